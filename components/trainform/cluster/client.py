"""Single objects of a live cluster. An object without permission is unknown, not missing."""

from __future__ import annotations

from typing import Any

from trainform import defaults
from trainform.cluster.api import Answer, ClusterApi, refusal
from trainform.cluster.connection import cluster_name
from trainform.cluster.live_objects import path_of


class Cluster:
    """A connection to the cluster of a kubeconfig context (None: the current one). Its methods raise `ClusterError`."""

    def __init__(self, context: str | None) -> None:
        self.cluster_name = cluster_name(context)
        self.api = ClusterApi(context, 2.0 * defaults.CONNECT_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self.api.close()

    def get(self, kind: str, name: str, namespace: str = "") -> Answer:
        """Return the answer for an object of one of the `KINDS`. It may be missing, or forbidden."""
        return self.get_at(path_of(kind, namespace, name))

    def get_at(self, path: str) -> Answer:
        """Return the same for the object at a path."""
        answer = self.api.get(path)
        if answer.found or answer.missing or answer.forbidden:
            return answer
        raise refusal(answer, f"read {path}")

    def find_all(self, kind: str, namespace: str, labels: dict[str, str]) -> list[dict[str, Any]]:
        """Return all objects of a kind in a namespace with these labels. Raises `ClusterError` without permission."""
        path = path_of(kind, namespace)
        selector = {"labelSelector": ",".join(f"{name}={value}" for name, value in labels.items())}
        what = f"list the {path.rpartition('/')[2]} of the namespace {namespace}"
        return self.api.find_all(path, what, parameters=selector)
