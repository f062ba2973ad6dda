"""The operators of the backends, and Kueue: how a cluster that has them is recognised."""

from __future__ import annotations

from msgspec import Struct

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import ClusterApi
from trainform.manifests.manifest import mappings


class Operator(Struct, frozen=True):
    """An operator. `name`: of the backend or queue system. `project`: what to install. `domain`: of its CRDs."""

    name: str
    project: str
    domain: str
    api_version: str


KUEUE = Operator(defaults.KUEUE, "Kueue", "kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2")


def operators() -> tuple[Operator, ...]:
    """Return all operators: the backends in the order of their table, then Kueue."""
    backends = (Operator(name, each.PROJECT, each.DOMAIN, each.API_VERSION) for name, each in BACKENDS.items())
    return (*backends, KUEUE)


def served_operators(api: ClusterApi) -> tuple[str, ...]:
    """Return the names of the operators whose API version is served. Raises `NotReadError`."""
    groups = mappings((api.find("/apis", "list the API groups") or {}).get("groups"))
    served = {version.get("groupVersion") for group in groups for version in mappings(group.get("versions"))}
    return tuple(operator.name for operator in operators() if operator.api_version in served)


def project_of(crd: str) -> str:
    """Return the project that installs a CRD: the one with the longest domain at the end of the name."""
    fitting = [operator for operator in operators() if crd.endswith(f".{operator.domain}")]
    return max(fitting, key=lambda operator: len(operator.domain)).project if fitting else "what serves it"
