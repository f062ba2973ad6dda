"""Objects of a live cluster by kind: their paths, and reads of single objects and of many."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.backends.backend import Backend
from trainform.cluster.api import ClusterApi, NotReadError, each, labelled
from trainform.cluster.live_drift import SECRETS
from trainform.cluster.operators import KUEUE
from trainform.manifests.manifest import mapping, mappings

FEW = 4  # objects of a kind in a namespace that are read one by one, so that one stack does not read all others
_API_VERSION = re.compile(r"(?:[a-z0-9][a-z0-9.-]*/)?v[a-z0-9]+")
Key = tuple[str, str, str, str]
"""API version, kind, namespace ("" for a kind of the whole cluster) and name of an object."""


def key_of(body: Mapping[str, Any], namespace: str = "") -> Key:
    """Return the key of an object. namespace: of one that has none."""
    metadata, version = mapping(body.get("metadata")), str(body.get("apiVersion", ""))
    return (
        version,
        str(body.get("kind", "")),
        str(metadata.get("namespace") or namespace),
        str(metadata.get("name", "")),
    )


class ServedKind(NamedTuple):
    """A kind: its name in paths, and whether its objects are in a namespace."""

    plural: str
    namespaced: bool


# Kinds that every cluster serves under the same name, or does not serve: the cluster is not asked where they are.
KINDS: Mapping[tuple[str, str], ServedKind] = {
    ("v1", "ConfigMap"): ServedKind("configmaps", namespaced=True),
    ("v1", "Namespace"): ServedKind("namespaces", namespaced=False),
    ("v1", "PersistentVolumeClaim"): ServedKind("persistentvolumeclaims", namespaced=True),
    ("v1", "Pod"): ServedKind("pods", namespaced=True),
    ("v1", SECRETS): ServedKind("secrets", namespaced=True),
    ("v1", "Service"): ServedKind("services", namespaced=True),
    ("v1", "ServiceAccount"): ServedKind("serviceaccounts", namespaced=True),
    ("node.k8s.io/v1", "RuntimeClass"): ServedKind("runtimeclasses", namespaced=False),
    ("scheduling.k8s.io/v1", "PriorityClass"): ServedKind("priorityclasses", namespaced=False),
    ("storage.k8s.io/v1", "StorageClass"): ServedKind("storageclasses", namespaced=False),
    (QUEUE_API, "Queue"): ServedKind("queues", namespaced=False),
    (KUEUE.api_version, "LocalQueue"): ServedKind("localqueues", namespaced=True),
    (KUEUE.api_version, "WorkloadPriorityClass"): ServedKind("workloadpriorityclasses", namespaced=False),
}
_VERSIONS = {kind: version for version, kind in KINDS}


class Live(Struct, frozen=True):
    """An object of the cluster, or of a dry run. body: None if it is missing, or could not be read (`reason`)."""

    body: Mapping[str, Any] | None
    reason: str = ""


def served(api: ClusterApi, api_version: str) -> dict[str, ServedKind]:
    """Return the kinds of the version; none if the cluster does not serve it."""
    if _API_VERSION.fullmatch(api_version) is None:
        raise NotReadError(f"{api_version} is not an API version")
    resources = api.find(_root(api_version), f"read {api_version}", lambda body: mappings(body.get("resources")))
    named = [found for found in resources or [] if "/" not in str(found.get("name", "/"))]
    return {str(found.get("kind")): ServedKind(str(found["name"]), bool(found.get("namespaced"))) for found in named}


def collection(api_version: str, kind: ServedKind, namespace: str) -> str:
    """Return the path of the kind's objects. namespace: where they are if the kind has one."""
    place = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced else ""
    return f"{_root(api_version)}{place}/{kind.plural}"


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """Return the path of an object of one of the `KINDS`; without a name, that of all of them in the namespace."""
    version = _VERSIONS[kind]
    place = collection(version, KINDS[version, kind], namespace)
    return f"{place}/{quote(name, safe='')}" if name else place


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def job_collections(backend: Backend, namespace: str) -> list[str]:
    """Return the paths of the job objects of a backend: its operator serves one of the plurals."""
    return [
        collection(operator.api_version, ServedKind(plural, namespaced=True), namespace)
        for operator in backend.OPERATORS
        for plural in operator.plurals
    ]


def find_job(api: ClusterApi, backend: Backend, namespace: str, name: str) -> dict[str, Any] | None:
    """Return the job object; None if there is none. Raises `NotReadError`."""
    what = f"read the job {name} of the namespace {namespace}"
    found = (api.find(f"{place}/{quote(name, safe='')}", what) for place in job_collections(backend, namespace))
    return next((body for body in found if body is not None), None)


class ObjectReader:
    """A reader of objects of any kind. It reads the kinds of an API version once. Several threads can use it."""

    def __init__(self, api: ClusterApi) -> None:
        self.api = api
        self._lock = threading.Lock()
        self._served: dict[str, dict[str, ServedKind]] = {}

    def path(self, key: Sequence[str]) -> str:
        """Return the path of an object; "" if the cluster does not serve its kind. Without a name: of all objects."""
        version, kind, namespace, *name = key
        place = KINDS.get((version, kind))
        if place is None:
            with self._lock:
                if version not in self._served:
                    self._served[version] = served(self.api, version)
            place = self._served[version].get(kind)
        if place is None:
            return ""
        return "/".join([collection(version, place, namespace), *(quote(part, safe="") for part in name)])

    def get(self, key: Key) -> dict[str, Any] | None:
        """Return an object, of a Secret only its metadata; None if the cluster has none. Raises `NotReadError`."""
        path, (_, kind, _, name) = self.path(key), key
        if not path:
            return None
        body = self.api.find(path, f"read {kind}/{name}", metadata_only=kind == SECRETS)
        return None if body is None else {**body, "kind": kind}

    def objects(self, keys: Iterable[Key]) -> dict[Key, Live]:
        """Return the live objects: many of one kind by one list of trainform's objects, and the rest one by one."""
        unique = dict.fromkeys(keys)
        counts = Counter(key[:3] for key in unique)
        lists = each(self._list, [group for group, count in counts.items() if count > FEW])
        found = {key: live for listed in lists for key, live in listed.items() if key in unique}
        rest = [key for key in unique if key not in found]
        return found | dict(zip(rest, each(self._live, rest), strict=True))

    def _live(self, key: Key) -> Live:
        try:
            return Live(self.get(key))
        except NotReadError as error:
            return Live(None, error.message)

    def _list(self, group: tuple[str, str, str]) -> dict[Key, Live]:
        """Return trainform's objects of a kind; empty if the list is refused, since single objects may be readable."""

        def keep(body: dict[str, Any]) -> tuple[Key, Live]:
            return (*group, body["metadata"]["name"]), Live({**body, "kind": group[1]})

        try:
            path = self.path(group)
            listed = self.api.find_all(path, "", keep, labelled(), group[1] == SECRETS) if path else []
        except NotReadError:
            return {}
        return dict(listed)
