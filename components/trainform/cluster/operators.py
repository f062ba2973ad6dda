"""The operators of the backends, and Kueue: how a cluster that has them is recognised."""

from __future__ import annotations

from msgspec import Struct

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import ClusterApi
from trainform.manifests.manifest import mappings


class Operator(Struct, frozen=True):
    """An operator. `name`: of the backend or queue system. `project`: what to install. `domain`: of its CRDs. `others`:
    further versions that are enough for jobs of the backend."""

    name: str
    project: str
    domain: str
    api_version: str
    others: tuple[str, ...] = ()


KUEUE = Operator(defaults.KUEUE, "Kueue", "kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2")


def operators() -> tuple[Operator, ...]:
    """Return all operators: the backends in the order of their table, Kueue, and those that run a kind of jobs."""
    backends = (
        Operator(name, each.PROJECT, each.DOMAIN, each.API_VERSION, tuple(other.api_version for other in each.OTHERS))
        for name, each in BACKENDS.items()
    )
    others = (
        Operator(
            other.project, other.project, f"{other.plural}.{other.api_version.partition('/')[0]}", other.api_version
        )
        for each in BACKENDS.values()
        for other in each.OTHERS
    )
    return (*backends, KUEUE, *others)


def served_operators(api: ClusterApi) -> tuple[str, ...]:
    """Return the names of the operators whose API version is served. Raises `NotReadError`."""
    groups = mappings((api.find("/apis", "list the API groups") or {}).get("groups"))
    served = {version.get("groupVersion") for group in groups for version in mappings(group.get("versions"))}
    return tuple(each.name for each in operators() if not served.isdisjoint([each.api_version, *each.others]))


def project_of(crd: str, api_version: str = "") -> str:
    """Return the project that installs a CRD, if possible in this version: the one with the longest domain at the end
    of the name."""
    fitting = [operator for operator in operators() if f".{crd}".endswith(f".{operator.domain}")]
    if not fitting:
        return "what serves it"
    return max(fitting, key=lambda operator: (operator.api_version == api_version, len(operator.domain))).project
