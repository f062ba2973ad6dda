"""The clusters of a stack, as Pulumi's state has them: those on which `pulumi destroy` deletes, which runs no program."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.manifests.shapes import mapping, mappings

PROVIDER = "pulumi:providers:kubernetes"


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


def _clusters(exported: Mapping[str, Any]) -> Iterator[StateCluster]:
    for resource in mappings(mapping(exported.get("deployment")).get("resources")):
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
