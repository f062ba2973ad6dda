"""Platform: what the environment's own stack holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from trainform.backends import platform_manifests
from trainform.backends.queues import CRDS
from trainform.cluster.preflight import check_objects
from trainform.cluster.read import Cluster
from trainform.examine import resolve_environment
from trainform.manifests.manifest import Manifest
from trainform.resources.apply import cluster_provider, once_made, register, told
from trainform.spec.environment import Environment


class Platform(pulumi.ComponentResource):
    """Namespace, queues, priority classes and shared claims of one environment. Errors as for `TrainingJob`."""

    namespace: pulumi.Output[str]
    queues: pulumi.Output[list[str]]
    kept_claims: pulumi.Output[list[str]]
    """Claims that `pulumi destroy` leaves."""

    def __init__(self, name: str, environment: Environment | str, opts: pulumi.ResourceOptions | None = None) -> None:
        with told():
            environment = resolve_environment(environment)
            manifests = platform_manifests(environment)
            check_objects(Cluster(environment.cluster.context), manifests, CRDS)
        super().__init__("trainform:index:Platform", name, None, opts)
        provider = cluster_provider(self, environment)
        registered: dict[str, pulumi.CustomResource] = {}
        for manifest in manifests:
            registered[manifest.key] = register(
                manifest,
                self,
                provider,
                [resource for key, resource in registered.items() if key == "namespace"],
                _parent_queue(manifest, registered),
            )
        outputs = {
            "namespace": environment.namespace.name,
            "queues": list(environment.queues),
            "kept_claims": [key for key, claim in environment.claims.items() if claim.keep],
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))
        self.register_outputs(outputs)


def _parent_queue(
    manifest: Manifest, registered: Mapping[str, pulumi.CustomResource]
) -> Mapping[str, pulumi.Input[Any]]:
    """The parent's name, where the parent is made here too: the manifests have parents first."""
    name = manifest.body.get("spec", {}).get("parent")
    parent = registered.get(f"queue-{name}")
    return {} if parent is None else {"parent": once_made(parent, name)}
