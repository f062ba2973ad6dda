"""Objects in a namespace, of every kind that the cluster serves."""

from __future__ import annotations

from http.client import METHOD_NOT_ALLOWED, NOT_FOUND

from msgspec import Struct

from trainform.cluster.api import Answer, ClusterApi, NotReadError, each
from trainform.cluster.live_objects import ServedKind, collection, served
from trainform.manifests.manifest import mapping, mappings

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
