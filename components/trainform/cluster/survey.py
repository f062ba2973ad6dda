"""Surveys of a live cluster for `trainform new --from-context`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform.cluster.api import ClusterApi, each
from trainform.cluster.live_objects import path_of
from trainform.cluster.operators import served_operators
from trainform.errors import ClusterError, shorten
from trainform.spec.names import LABEL, MEANING, is_label

Objects = list[Any] | None
"""Objects as the API server returns them; None if they could not be read."""
Fields = Mapping[str, tuple[str, ...]]
SECONDS = 30.0  # a list of thousands of nodes takes several
NODE: Fields = {
    "metadata": ("name", "labels"),
    "spec": ("taints", "unschedulable"),
    "status": ("allocatable", "conditions"),
}
CLASS: Fields = {"metadata": ("name",)}
QUEUE: Fields = {**CLASS, "spec": ("parent",), "status": ("state",)}


class Survey(Struct, frozen=True):
    """The data of one cluster, which is not validated. namespace: that of the context. unread: each missing list, with
    the reason. uid: that of its namespace kube-system."""

    context: str
    namespace: str
    operators: tuple[str, ...] | None
    nodes: Objects
    storage_classes: Objects
    queues: Objects
    local_queues: Objects
    unread: tuple[str, ...] = ()
    uid: str | None = None


def survey(context: str, seconds: float = SECONDS) -> Survey:
    """Return the data of the context's cluster. `ClusterError` without a connection; other failures: see `unread`."""
    with contextlib.closing(ClusterApi(context, seconds)) as api:
        namespace = api.config.namespace
        if not is_label(namespace):  # it becomes a part of paths
            raise ClusterError(
                f"the context {context} of {api.config.fname} names the namespace {shorten(namespace)}, which "
                f"{MEANING[LABEL][0]}",
                f"kubectl config set-context {shlex.quote(context)} --namespace=NAME",
            )
        api.version()
        reads = {
            "nodes": lambda: _listed(api, "/api/v1/nodes", NODE),
            "storage_classes": lambda: _listed(api, path_of("StorageClass"), CLASS),
            "operators": lambda: served_operators(api),
            "queues": lambda: _listed(api, path_of("Queue"), QUEUE),
            "local_queues": lambda: _listed(api, path_of("LocalQueue", namespace), CLASS),
            "uid": api.uid,
        }
        found: dict[str, Any] = {}
        unread: dict[str, str] = {}

        def read(name: str) -> None:
            try:
                found[name] = reads[name]()
            except ClusterError as error:
                found[name], unread[name] = None, error.message

        each(read, [*reads])
    notes = (name for name in ("nodes", "storage_classes", "operators") if name in unread)
    unread_texts = tuple(f"{name.replace('_', ' ')} could not be read: {unread[name]}" for name in notes)
    return Survey(context=context, namespace=namespace, unread=unread_texts, **found)


def _listed(api: ClusterApi, path: str, fields: Fields) -> list[Any]:
    """Return the objects with these fields alone, to use less memory for thousands of nodes."""

    def keep(item: Any) -> dict[str, dict[str, Any]]:
        parts = {part: item.get(part) for part in fields} if isinstance(item, dict) else {}
        return {
            part: {name: value[name] for name in fields[part] if name in value}
            for part, value in parts.items()
            if isinstance(value, dict)
        }

    return api.find_all(path, f"list {path.rpartition('/')[2]}", keep)
