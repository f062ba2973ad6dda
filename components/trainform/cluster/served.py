"""Where the objects of a kind are on a cluster: its API version says it for each of its kinds."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from trainform.cluster.api import Answer, ClusterApi
from trainform.errors import without_credentials
from trainform.manifests.shapes import mappings

_API_VERSION = re.compile(r"(?:[a-z0-9][a-z0-9.-]*/)?v[a-z0-9]+")


class NotReadError(Exception):
    """Something could not be read; the text is the reason."""


class Served(NamedTuple):
    """A kind: its name in paths, and whether its objects are in a namespace."""

    plural: str
    namespaced: bool


# The built-in kinds of trainform's objects, by version and kind: no cluster has them under another name, so nobody has
# to ask.
BUILT_IN = {
    ("v1", "ConfigMap"): Served("configmaps", namespaced=True),
    ("v1", "Namespace"): Served("namespaces", namespaced=False),
    ("v1", "PersistentVolumeClaim"): Served("persistentvolumeclaims", namespaced=True),
    ("v1", "Secret"): Served("secrets", namespaced=True),
    ("v1", "Service"): Served("services", namespaced=True),
    ("scheduling.k8s.io/v1", "PriorityClass"): Served("priorityclasses", namespaced=False),
}


def served(api: ClusterApi, api_version: str) -> dict[str, Served]:
    """The kinds of the version; none if the cluster does not serve it."""
    if _API_VERSION.fullmatch(api_version) is None:
        raise NotReadError(f"{api_version} is no API version")
    answer = api.get(_root(api_version))
    if answer.missing:
        return {}
    if not answer.found:
        raise NotReadError(refusal(answer, f"read {api_version}"))
    named = [each for each in mappings(answer.body.get("resources")) if "/" not in str(each.get("name", "/"))]
    return {str(each.get("kind")): Served(str(each["name"]), bool(each.get("namespaced"))) for each in named}


def collection(api_version: str, kind: Served, namespace: str) -> str:
    """The path of the kind's objects. namespace: where they are if the kind has one."""
    place = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced else ""
    return f"{_root(api_version)}{place}/{kind.plural}"


def refusal(answer: Answer, what: str) -> str:
    """Why the cluster does not do it, as a sentence without credentials."""
    if answer.forbidden:
        return f"this account has no permission to {what}"
    return f"the cluster does not {what}: {' '.join(without_credentials(answer.message).split())}"


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
