"""The operators of the backends, and Kueue: how a cluster that has them is recognised."""

from __future__ import annotations

from collections.abc import Mapping

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import ClusterApi
from trainform.manifests.manifest import mappings
from trainform.plan.operator import Operator

KUEUE = Operator("Kueue", "kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2", "kueue-system/kueue-controller-manager", ())


def operators() -> Mapping[str, tuple[Operator, ...]]:
    """Return the operators by name, any of which is enough: of the backends in the order of their table, of Kueue, and
    of further projects that run some jobs of a backend."""
    named = {name: backend.OPERATORS for name, backend in BACKENDS.items()} | {defaults.KUEUE: (KUEUE,)}
    return named | {
        each.project: (each,) for main, *others in named.values() for each in others if each.project != main.project
    }


def served_versions(api: ClusterApi) -> dict[str, list[str]]:
    """Return the versions of each served API group, without that of the core. Raises `NotReadError`."""
    groups = mappings((api.find("/apis", "list the API groups") or {}).get("groups"))
    return {
        str(group.get("name")): [str(version.get("version")) for version in mappings(group.get("versions"))]
        for group in groups
    }


def served_operators(api: ClusterApi) -> tuple[str, ...]:
    """Return the names of the operators whose API version is served. Raises `NotReadError`."""
    served = {f"{group}/{version}" for group, versions in served_versions(api).items() for version in versions}
    return tuple(name for name, found in operators().items() if any(each.api_version in served for each in found))


def project_of(crd: str, api_version: str = "") -> str:
    """Return the project that installs a CRD, if possible in this version: the one with the longest domain at the end
    of the name."""
    fitting = [each for found in operators().values() for each in found if f".{crd}".endswith(f".{each.domain}")]
    if not fitting:
        return "what serves it"
    return max(fitting, key=lambda operator: (operator.api_version == api_version, len(operator.domain))).project
