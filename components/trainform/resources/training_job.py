"""TrainingJob: claims, Services, the SSH identity, an own queue, the launch files and the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from trainform.backends import job_manifests, plan_job
from trainform.backends.job import needed_crds
from trainform.cluster.preflight import check_job
from trainform.cluster.read import Cluster
from trainform.examine import resolve
from trainform.manifests.manifest import Manifest
from trainform.manifests.ssh import identity
from trainform.plan.model import Plan
from trainform.resources.apply import cluster_provider, once_made, register, told
from trainform.resources.ssh import is_identity, private_files
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


class TrainingJob(pulumi.ComponentResource):
    """One experiment in one environment.

    Both are models, or names in `stacks/` and paths of files. With every problem of the two, or everything that the live cluster lacks,
    it ends the program (`pulumi.RunError`) before anything is registered. `run` counts deliberate repetitions of an unchanged
    experiment, from 1. The objects are made on the environment's cluster, unless `opts` brings a Kubernetes provider.
    """

    job: pulumi.Output[str]
    """Name of the job object; it contains the revision."""
    revision: pulumi.Output[str]
    namespace: pulumi.Output[str]
    queue: pulumi.Output[str]
    master: pulumi.Output[str]
    """Address and port of rank 0."""
    nodes: pulumi.Output[int]
    """Ranked pods."""
    processes: pulumi.Output[int]
    """Training processes over all ranked pods."""
    accelerators: pulumi.Output[Mapping[str, int]]
    kept_claims: pulumi.Output[list[str]]
    """Claims that `pulumi destroy` leaves."""
    overrides: pulumi.Output[list[str]]
    """Where merge patches of the user change what trainform rendered."""

    def __init__(
        self,
        name: str,
        experiment: Experiment | str,
        environment: Environment | str,
        run: int = 1,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            experiment, environment = resolve(experiment, environment, run)
            plan = plan_job(experiment, environment, run)
            manifests = job_manifests(plan)
            identity_secrets = _identity_secrets(plan)
            check_job(Cluster(plan.context), plan, manifests, needed_crds(plan))
        # The engine compares them: a preview shows what the user has changed, also where it stands in an object that is made anew.
        inputs = {"experiment": experiment.user_set(), "run": run}
        super().__init__("trainform:index:TrainingJob", name, inputs, opts)

        provider = cluster_provider(self, environment)
        *before, job = manifests
        registered: dict[str, pulumi.CustomResource] = {}
        for manifest in before:
            registered[manifest.key] = register(
                manifest,
                self,
                provider,
                spec_inputs=_own_queue(plan, manifest, registered),
                secrets=identity_secrets if is_identity(manifest) else None,
            )
        register(job, self, provider, list(registered.values()), _own_queue(plan, job, registered))

        outputs: dict[str, Any] = {
            "job": plan.job,
            "revision": plan.revision,
            "namespace": plan.namespace,
            "queue": plan.queue.name,
            "master": f"{plan.rendezvous.address}:{plan.rendezvous.port}",
            "nodes": plan.world.nodes,
            "processes": plan.world.processes,
            "accelerators": plan.totals.accelerators,
            "kept_claims": [claim.name for claim in plan.claims if claim.request.keep],
            "overrides": list(plan.overrides),
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))
        self.register_outputs(outputs)


def _own_queue(
    plan: Plan, manifest: Manifest, registered: Mapping[str, pulumi.CustomResource]
) -> Mapping[str, pulumi.Input[Any]]:
    """The queue's name, where the queue is made here too."""
    queue = registered.get(f"queue-{plan.queue.name}")
    if queue is None or manifest.body.get("spec", {}).get("queue") != plan.queue.name:
        return {}
    return {"queue": once_made(queue, plan.queue.name)}


def _identity_secrets(plan: Plan) -> Mapping[str, pulumi.Input[Any]] | None:
    if plan.ssh is None or not plan.ssh.made:
        return None
    return private_files(identity(plan), plan.ssh.rotation)
