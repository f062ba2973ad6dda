"""The objects that live in a namespace, of every kind that the cluster serves."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from trainform.cluster.api import MAX_CONNECTIONS, Answer, ClusterApi
from trainform.cluster.served import NotReadError, Served, collection, served
from trainform.manifests.shapes import mapping, mappings

OF_CLUSTER = {"Endpoints", "Event"}
"""Kinds that the cluster writes about other objects."""
OF_NAMESPACE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
"""Objects that Kubernetes creates in every namespace."""
COMPUTED = "metrics.k8s.io/"


class Contents(Struct, frozen=True):
    """Kind and name of each object without an owner. not_listed: the kinds that this account may not list."""

    objects: tuple[tuple[str, str], ...]
    not_listed: tuple[str, ...]


def contents(api: ClusterApi, namespace: str) -> Contents:
    """Return the objects in the namespace. Those of controllers, such as the pods of a job, are left out. Raises `ClusterError`."""
    groups = mappings(api.get("/apis").body.get("groups"))
    versions = ["v1", *(str(mapping(group.get("preferredVersion")).get("groupVersion")) for group in groups)]
    with ThreadPoolExecutor(MAX_CONNECTIONS) as pool:
        kinds = [
            (version, kind, place)
            for version, found in zip(versions, pool.map(lambda version: _served(api, version), versions), strict=True)
            for kind, place in found.items()
            if place.namespaced and kind not in OF_CLUSTER and not version.startswith(COMPUTED)
        ]
        paths = [collection(version, place, namespace) for version, _, place in kinds]
        lists = [*pool.map(lambda path: api.listed(path, _metadata, metadata_only=True), paths)]
    objects, not_listed = set[tuple[str, str]](), set[str]()
    for (_, kind, _), listed in zip(kinds, lists, strict=True):
        if not isinstance(listed, Answer):
            objects |= {(kind, str(each.get("name"))) for each in listed if not each.get("ownerReferences")}
        elif listed.forbidden:
            not_listed.add(kind)
    return Contents(tuple(sorted(objects - OF_NAMESPACE)), tuple(sorted(not_listed)))


def _served(api: ClusterApi, version: str) -> dict[str, Served]:
    try:
        return served(api, version)
    except NotReadError:
        return {}


def _metadata(body: Any) -> Mapping[str, Any]:
    return mapping(mapping(body).get("metadata"))
