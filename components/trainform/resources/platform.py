"""The component `Platform`: the objects of an environment's own stack."""

from __future__ import annotations

import pulumi

from trainform.backends.admission import CRDS
from trainform.cluster.outcome import Outcome
from trainform.cluster.preflight import check_objects
from trainform.job.check import check_platform
from trainform.plan.inputs import environment_inputs
from trainform.resources.apply import as_run_error, output_after, register, set_outputs, show_outcome, target_of
from trainform.resources.preflight import preflight
from trainform.spec.environment import Environment


class Platform(pulumi.ComponentResource):
    """Namespace, queues, priority classes and shared claims of one environment. It fails as `TrainingJob` does."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""
    queues: pulumi.Output[list[str]]
    """Names of the queues."""
    kept_claims: pulumi.Output[list[str]]
    """Names of the claims that `pulumi destroy` does not delete."""
    next: pulumi.Output[str]
    """The command that shows whether an experiment can be deployed in the environment."""

    def __init__(self, name: str, environment: Environment | str, opts: pulumi.ResourceOptions | None = None) -> None:
        """name: name of the component; the names of its resources begin with it.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            rendered = check_platform(environment).or_raise()
            environment, manifests = rendered.environment, rendered.manifests
            outcome = preflight(lambda cluster, stack: check_objects(cluster, manifests, CRDS, stack), environment)
        super().__init__("trainform:index:Platform", name, environment_inputs(environment), opts)
        show_outcome(Outcome(warnings=[*rendered.warnings]) + outcome, self)
        target = target_of(self, environment)
        registered: dict[str, pulumi.CustomResource] = {}
        for manifest in manifests:
            before = [resource for key, resource in registered.items() if key == "namespace"]
            # the manifests list each queue before its children; with its output it is created before them
            parent = manifest.body.get("spec", {}).get("parent")
            queue = registered.get(f"queue-{parent}")
            inputs = {} if queue is None else {"parent": output_after(queue, parent)}
            registered[manifest.key] = register(manifest, self, target, name, before, inputs)
        outputs = {
            "namespace": environment.namespace.name,
            "queues": list(environment.queues),
            "kept_claims": [key for key, claim in environment.claims.items() if claim.keep],
            "next": f"trainform doctor -e {environment.name}",
        }
        set_outputs(self, outputs)
