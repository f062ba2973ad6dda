"""What Pulumi's state has of a stack: its clusters, on which `pulumi destroy` deletes, which runs no program, and the record of what was deployed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.errors import ClusterError
from trainform.manifests.shapes import mapping, mappings
from trainform.plan.record import Record, read_record, record_name

PROVIDER = "pulumi:providers:kubernetes"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


@dataclasses.dataclass(frozen=True, order=True)
class StateCluster:
    """A cluster of a stack. context: None for the current one. uid: None if the stack is not bound to it. name: of the provider.
    own_kubeconfig: the provider has a kubeconfig in the state, so that no other one is used."""

    name: str
    context: str | None
    uid: str | None
    own_kubeconfig: bool = False


def clusters_of(exported: Mapping[str, Any]) -> list[StateCluster]:
    """The cluster of each provider in what `pulumi stack export` has printed. A stack without resources has none."""
    return sorted(_clusters(exported), key=lambda cluster: cluster.name)


def record_in(exported: Mapping[str, Any], experiment: str) -> Record | None:
    """The record of what is deployed, as the state has it; None if it has none that can be read. After a `pulumi up` that failed it may be what was
    wanted."""
    for resource in _resources(exported):
        inputs = mapping(resource.get("inputs"))
        name = mapping(inputs.get("metadata")).get("name")
        if resource.get("type") == CONFIG_MAP and name == record_name(experiment):
            try:
                return read_record(inputs)
            except ClusterError:
                return None
    return None


def _resources(exported: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of what the engine exports, or of a file of its history."""
    latest = mapping(mapping(exported.get("checkpoint")).get("latest"))
    return mappings((mapping(exported.get("deployment")) if "deployment" in exported else latest).get("resources"))


def _clusters(exported: Mapping[str, Any]) -> Iterator[StateCluster]:
    for resource in _resources(exported):
        if resource.get("type") == PROVIDER:
            inputs = mapping(resource.get("inputs"))
            yield StateCluster(
                name=str(resource.get("urn", "")).rpartition("::")[2],
                context=_text(inputs.get("context")),
                uid=_text(inputs.get("clusterIdentifier")),
                own_kubeconfig="kubeconfig" in inputs,
            )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
