"""A survey of a live cluster: nodes, storage classes, operators, queues. `trainform new --from-context` writes an
environment from it."""

from __future__ import annotations

import contextlib
import functools
import shlex
from typing import Any

from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.cluster.api import ClusterApi, each
from trainform.cluster.operators import KUEUE
from trainform.cluster.survey import Survey
from trainform.doctor.cluster import served_operators, server_version
from trainform.errors import ClusterError, shorten
from trainform.spec.names import LABEL, MEANING, is_label

Fields = dict[str, tuple[str, ...]]
SECONDS = 30.0  # a list of thousands of nodes takes several
NODE: Fields = {
    "metadata": ("name", "labels"),
    "spec": ("taints", "unschedulable"),
    "status": ("allocatable", "conditions"),
}
CLASS: Fields = {"metadata": ("name",)}
QUEUE: Fields = {**CLASS, "spec": ("parent",), "status": ("state",)}
# Path of a collection, and the fields of its objects that are kept.
LISTS: dict[str, tuple[str, Fields]] = {
    "nodes": ("/api/v1/nodes", NODE),
    "storage_classes": ("/apis/storage.k8s.io/v1/storageclasses", CLASS),
    "queues": (f"/apis/{QUEUE_API}/queues", QUEUE),
    "local_queues": (f"/apis/{KUEUE.api_version}/namespaces/{{namespace}}/localqueues", CLASS),
}
UNREADABLE = "this account has no permission to list them"


def survey(context: str, seconds: float = SECONDS) -> Survey:
    """Return the data of the context's cluster. Raises `ClusterError` if there is no connection; single lists that fail
    are in `unread`."""
    with contextlib.closing(ClusterApi(context, seconds)) as api:
        namespace = api.config.namespace
        if not is_label(namespace):  # it becomes a part of paths
            raise ClusterError(
                f"the context {context} of {api.config.fname} names the namespace {shorten(namespace)}, which "
                f"{MEANING[LABEL][0]}",
                f"kubectl config set-context {shlex.quote(context)} --namespace=NAME",
            )
        server_version(api)
        found: dict[str, Any] = {"operators": _attempt(lambda: served_operators(api))}
        found |= zip(LISTS, each(functools.partial(_listed, api), [*LISTS]), strict=True)
        uid = None
        with contextlib.suppress(ClusterError):
            uid = api.uid()
    unread = [name for name in ("nodes", "storage_classes", "operators") if isinstance(found[name], str)]
    items = {name: None if isinstance(value, str) else value for name, value in found.items()}
    notes = tuple(f"{name.replace('_', ' ')} could not be read: {found[name]}" for name in unread)
    return Survey(context=context, namespace=namespace, uid=uid, unread=notes, **items)


def _attempt(read: Any) -> Any:
    """Return what the function reads, or the reason why it cannot."""
    try:
        found = read()
    except ClusterError as error:
        return error.message
    return UNREADABLE if found is None else found


def _listed(api: ClusterApi, name: str) -> Any:
    path, fields = LISTS[name]
    keep = functools.partial(_only, fields)
    return _attempt(lambda: api.find_all(path.format(namespace=api.config.namespace), f"list {name}", keep))


def _only(fields: Fields, item: Any) -> dict[str, dict[str, Any]]:
    """Return only these fields of an object, to use less memory for thousands of nodes."""
    parts = {part: item.get(part) for part in fields} if isinstance(item, dict) else {}
    return {
        part: {name: value[name] for name in fields[part] if name in value}
        for part, value in parts.items()
        if isinstance(value, dict)
    }
