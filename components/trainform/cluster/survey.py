"""Surveys of a live cluster for `trainform new --from-context`, and of the contents of a namespace for `destroy`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from http.client import METHOD_NOT_ALLOWED, NOT_FOUND
from typing import Any

from msgspec import Struct

from trainform.cluster.api import Answer, ClusterApi, NotReadError, each
from trainform.cluster.live_objects import ServedKind, collection, path_of, served
from trainform.cluster.operators import served_operators
from trainform.errors import ClusterError, shorten
from trainform.manifests.manifest import mapping, mappings
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


CLUSTER_KINDS = {"Endpoints", "Event"}
"""Kinds that the cluster writes about other objects."""
NAMESPACE_OBJECTS = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
"""Objects that Kubernetes creates in every namespace."""
COMPUTED = "metrics.k8s.io/"
NO_LIST = (NOT_FOUND, METHOD_NOT_ALLOWED)
"""Answers for kinds that have no list, such as reviews."""


class Contents(Struct, frozen=True):
    """Kind and name of each object without an owner. not_listed: kinds or versions that could not be listed."""

    objects: tuple[tuple[str, str], ...]
    not_listed: tuple[str, ...]


def contents(api: ClusterApi, namespace: str) -> Contents:
    """Return the objects in the namespace that no controller owns. Raises `ClusterError`."""
    groups = mappings(api.get("/apis").body.get("groups"))
    preferred = [str(mapping(group.get("preferredVersion")).get("groupVersion")) for group in groups]
    versions = ["v1", *(version for version in preferred if not version.startswith(COMPUTED))]
    not_listed = set[str]()

    def served_kinds(version: str) -> dict[str, ServedKind]:
        try:
            return served(api, version)
        except NotReadError:
            not_listed.add(version)
            return {}

    kinds = [
        (kind, collection(version, place, namespace))
        for version, found in zip(versions, each(served_kinds, versions), strict=True)
        for kind, place in found.items()
        if place.namespaced and kind not in CLUSTER_KINDS
    ]
    lists = each(lambda kind: api.listed(kind[1], metadata_only=True), kinds)
    objects = set[tuple[str, str]]()
    for (kind, _), listed in zip(kinds, lists, strict=True):
        if not isinstance(listed, Answer):
            metadata = [mapping(mapping(body).get("metadata")) for body in listed]
            objects |= {(kind, str(own.get("name"))) for own in metadata if not own.get("ownerReferences")}
        elif listed.status not in NO_LIST:
            not_listed.add(kind)
    return Contents(tuple(sorted(objects - NAMESPACE_OBJECTS)), tuple(sorted(not_listed)))
