"""Queues of Kueue on the real cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.engine.live import Live

API_VERSION = "kueue.x-k8s.io/v1beta2"
KUEUE = f"/apis/{API_VERSION}"


@contextmanager
def local_queue(
    live: Live,
    namespace: str,
    quotas: Mapping[str, Any],
    nodes: Mapping[str, str] | None = None,
    name: str = "team",
    **spec: Any,
) -> Iterator[str]:
    """Yield the name of the ClusterQueue behind the LocalQueue `name`: the namespace. JobSets end with it. nodes: their
    labels. spec: more fields of the ClusterQueue."""
    resources = [{"name": resource, "nominalQuota": quota} for resource, quota in quotas.items()]
    group = {"coveredResources": [*quotas], "flavors": [{"name": namespace, "resources": resources}]}
    bodies: list[dict[str, Any]] = [
        {"kind": "ResourceFlavor", "metadata": {"name": namespace}, "spec": {"nodeLabels": dict(nodes or {})}},
        {
            "kind": "ClusterQueue",
            "metadata": {"name": namespace},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group], **spec},
        },
        {
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterQueue": namespace},
        },
    ]
    for body in bodies:
        live.make({"apiVersion": API_VERSION, **body})
    try:
        yield namespace
    finally:
        for job in live.find_all("jobsets", namespace):
            live.delete("jobsets", job["metadata"]["name"], namespace)
        for body in reversed(bodies):
            live.remove({"apiVersion": API_VERSION, **body})


@contextmanager
def held_queue(live: Live, namespace: str) -> Iterator[str]:
    """Yield a `local_queue` that holds everything back."""
    with local_queue(live, namespace, {"cpu": "32", "memory": "64Gi"}, stopPolicy="Hold") as name:
        yield name


def stop(live: Live, queue: str, policy: str) -> None:
    """Set whether the ClusterQueue holds jobs back: `Hold` or `None`."""
    live.merge(f"{KUEUE}/clusterqueues/{queue}", {"spec": {"stopPolicy": policy}})
