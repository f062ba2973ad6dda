"""The base class of the components of a job. Programs can also use each of them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pulumi

from trainform.cluster.preflight import check_objects
from trainform.manifests.manifest import Manifest
from trainform.resources.apply import Target, as_run_error, output_after, register, set_outputs, show_outcome, target_of
from trainform.resources.preflight import preflight
from trainform.spec.environment import Environment


class Part(pulumi.ComponentResource):
    """A component with Kubernetes objects as its children."""

    OUTPUT: ClassVar[str] = ""
    """Name of the output that holds the name of its object."""
    objects: dict[str, pulumi.CustomResource]
    """The objects that are registered as its children, by the keys of their manifests."""

    @classmethod
    def create_for_job(
        cls,
        job: pulumi.ComponentResource,
        name: str,
        inputs: Mapping[str, Any],
        manifests: Sequence[Manifest],
        target: Target,
        outputs: Mapping[str, Any] | None = None,
        secrets: Mapping[str, pulumi.Input[Any]] | None = None,
    ) -> Self:
        """Register the component as a child of a job: `sdxl-lora-worker` of `sdxl-lora`. The job has checked it.

        The names of its objects begin with the job's name. `outputs` are added to the component's own outputs.
        """
        part = cls.__new__(cls)
        part._register(f"{job._name}-{name}", inputs, pulumi.ResourceOptions(parent=job))
        names = part._register_objects(manifests, target, job._name, secrets)
        set_outputs(part, {**part._outputs(names), **({} if outputs is None else outputs)})
        return part

    def _make(
        self,
        name: str,
        inputs: Mapping[str, Any],
        manifests: Sequence[Manifest],
        environment: Environment,
        opts: pulumi.ResourceOptions | None,
        crds: tuple[str, ...] = (),
        secrets: Mapping[str, pulumi.Input[Any]] | None = None,
    ) -> dict[str, pulumi.Output[str]]:
        """Check the objects on the live cluster, then register the component and its objects. Return their names."""
        with as_run_error():
            outcome = preflight(lambda cluster, stack: check_objects(cluster, manifests, crds, stack), environment)
        self._register(name, {**inputs, "environment": environment.name}, opts)
        show_outcome(outcome, self)
        return self._register_objects(manifests, target_of(self, environment), name, secrets)

    def _register(self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None) -> None:
        """Register the component. inputs: plain data that the user set; the engine stores it and shows changes."""
        super().__init__(f"trainform:index:{type(self).__name__}", name, dict(inputs), opts)

    def _register_objects(
        self,
        manifests: Sequence[Manifest],
        target: Target,
        owner: str,
        secrets: Mapping[str, pulumi.Input[Any]] | None = None,
    ) -> dict[str, pulumi.Output[str]]:
        """Register the objects, and return their names by key. A name is known when its object exists."""
        self.objects = {
            manifest.key: register(manifest, self, target, owner, secrets=secrets) for manifest in manifests
        }
        return {
            manifest.key: output_after(self.objects[manifest.key], manifest.body["metadata"]["name"])
            for manifest in manifests
        }

    def _outputs(self, names: Mapping[str, pulumi.Output[str]]) -> dict[str, Any]:
        """Return the component's outputs from the names that `_register_objects` returns."""
        return {self.OUTPUT: next(iter(names.values()))} if names else {}
