"""The clusters, objects and records in Pulumi's state of a stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.deployed.updates import REFRESH, Update
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping, mappings
from trainform.plan.record import Record, read_record, record_name

PROVIDER = "pulumi:providers:kubernetes"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
NAMESPACE = "kubernetes:core/v1:Namespace"
CREATING = "creating"
SECOND = len("2026-01-01T00:00:00")


class StateCluster(Struct, frozen=True, order=True):
    """A cluster of a stack. name: of the provider. context: None for the current one. uid: None if the stack is not
    bound to it. own_kubeconfig: the provider has a kubeconfig in the state."""

    name: str
    context: str | None
    uid: str | None
    own_kubeconfig: bool = False


class StateJob(Struct, frozen=True, order=True):
    """A job of which the state has objects. cluster: the name of their provider."""

    cluster: str
    experiment: str
    namespace: str


class StateNamespace(Struct, frozen=True):
    """A namespace that the stack has created. cluster: the name of its provider. kept: `pulumi destroy` retains it."""

    cluster: str
    name: str
    kept: bool


def clusters_of(exported: Mapping[str, Any]) -> list[StateCluster]:
    """Return the cluster of each provider in the output of `pulumi stack export`."""
    found = []
    for resource in _resources(exported):
        if resource.get("type") == PROVIDER:
            inputs, name = mapping(resource.get("inputs")), str(resource.get("urn", "")).rpartition("::")[2]
            uid, own = _text(inputs.get("clusterIdentifier")), "kubeconfig" in inputs
            found.append(StateCluster(name, _text(inputs.get("context")), uid, own))
    return sorted(found, key=lambda cluster: cluster.name)


def jobs_of(exported: Mapping[str, Any]) -> list[StateJob]:
    """Return the jobs of the stack by the labels of their objects, also where an `up` failed before it recorded one."""
    found = set[StateJob]()
    for resource, metadata in _owned_objects(exported):
        namespace, experiment = metadata.get("namespace"), mapping(metadata.get("labels")).get(defaults.NAME_LABEL)
        # an environment has claims, too, and no record
        if namespace and experiment and not str(resource.get("type")).endswith(":PersistentVolumeClaim"):
            found.add(StateJob(_provider(resource), str(experiment), str(namespace)))
    return sorted(found)


def _owned_objects(exported: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each resource with trainform's labels, and its metadata."""
    for resource in _resources(exported):
        metadata = mapping(mapping(resource.get("inputs")).get("metadata"))
        if defaults.MANAGED_BY.items() <= mapping(metadata.get("labels")).items():
            yield resource, metadata


def _provider(resource: Mapping[str, Any]) -> str:
    """Return the name of the resource's provider."""
    return str(resource.get("provider", "")).rpartition("::")[0].rpartition("::")[2]


def namespaces_of(exported: Mapping[str, Any]) -> list[StateNamespace]:
    """Return the namespaces that trainform has created with the stack."""
    return [
        StateNamespace(_provider(resource), str(metadata.get("name", "")), resource.get("retainOnDelete") is True)
        for resource, metadata in _owned_objects(exported)
        if resource.get("type") == NAMESPACE
    ]


def claims_of(exported: Mapping[str, Any], *, kept: bool) -> list[str]:
    """Return NAMESPACE/NAME of the claims of the stack that `pulumi destroy` keeps, or of those that it deletes."""
    found = [
        mapping(mapping(resource.get("inputs")).get("metadata"))
        for resource in _resources(exported)
        if resource.get("type") == CLAIM and (resource.get("retainOnDelete") is True) is kept
    ]
    return sorted(f"{metadata.get('namespace')}/{metadata.get('name')}" for metadata in found)


def record_in(exported: Mapping[str, Any], experiment: str) -> Record | None:
    """Return the record; None without one that can be read. After a failed `pulumi up` it may not be deployed."""
    for resource in _resources(exported):
        if _is_record(resource, experiment):
            try:
                return read_record(mapping(resource.get("inputs")))
            except ClusterError:
                return None
    return None


def unfinished(exported: Mapping[str, Any], experiment: str, done: Sequence[Update]) -> bool:
    """Return True if the state has changes that the history does not have: a `pulumi up` runs, or was killed.

    done: the history, the newest first. A folder and a bucket add an update at its end, by the same clock as the
    state; a service has each. A `refresh` after a kill changes objects again, but not their creation times.
    """
    if _is_pending(exported):
        return True
    if not done or done[0].number:
        return False
    last = next((each.ended for each in done if each.kind != REFRESH), "")
    return any(
        _second(resource, "created") > last
        or _second(resource, "modified") > (last if _is_record(resource, experiment) else done[0].ended)
        for resource in _resources(exported)
    )


def _is_pending(exported: Mapping[str, Any]) -> bool:
    """Return True for an unfinished operation. The engine may keep one whose resource a later `up` has created."""
    existing = {
        resource.get("urn")
        for resource in _resources(exported)
        if not resource.keys() & {"delete", "pendingReplacement"}
    }
    operations = mappings(mapping(exported.get("deployment")).get("pending_operations"))
    return any(
        each.get("type") != CREATING or mapping(each.get("resource")).get("urn") not in existing for each in operations
    )


def _second(resource: Mapping[str, Any], when: str) -> str:
    """Return when the resource was created or modified, to the second; "" if unknown."""
    time = _text(resource.get(when))
    return "" if time is None else f"{time[:SECOND]}Z"


def _is_record(resource: Mapping[str, Any], experiment: str) -> bool:
    name = mapping(mapping(resource.get("inputs")).get("metadata")).get("name")
    return resource.get("type") == CONFIG_MAP and name == record_name(experiment)


def _resources(exported: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the resources of an export, or of a file of the history."""
    latest = mapping(mapping(exported.get("checkpoint")).get("latest"))
    return mappings((mapping(exported.get("deployment")) if "deployment" in exported else latest).get("resources"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
