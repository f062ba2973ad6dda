"""The component `TrainingJob`: a job object with its record and all that it needs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Self

import pulumi
from msgspec import structs

from trainform import defaults
from trainform.cluster.outcome import Outcome
from trainform.cluster.preflight import check_job
from trainform.deployed.releases.evidence import check_gates
from trainform.errors import InputError, Problem
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import Component, Manifest
from trainform.manifests.ssh_files import ssh_names
from trainform.plan.inputs import JobInputs, job_inputs
from trainform.plan.model import Plan
from trainform.resources.apply import (
    Target,
    after_attempt,
    as_run_error,
    look_command,
    register,
    set_outputs,
    show_outcome,
    target_of,
)
from trainform.resources.components import Rendezvous, RoleGroup, SharedStorage, TrainingQueue
from trainform.resources.part import Part
from trainform.resources.preflight import preflight
from trainform.resources.ssh_identity import SshIdentity, private_files
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


class TrainingJob(pulumi.ComponentResource):
    """One experiment in one environment.

    Raises `pulumi.RunError` with all problems of the files, the gates and the live cluster.
    """

    job: pulumi.Output[str]
    """Name of the job object; it contains the revision."""
    revision: pulumi.Output[str]
    """Hash of everything that cannot change while the job runs."""
    namespace: pulumi.Output[str]
    """Namespace of its objects."""
    queue: pulumi.Output[str]
    """Name of the queue that it waits in."""
    master: pulumi.Output[str]
    """Address and port of rank 0."""
    nodes: pulumi.Output[int]
    """Ranked pods."""
    processes: pulumi.Output[int]
    """Training processes over all ranked pods."""
    accelerators: pulumi.Output[Mapping[str, int]]
    """Accelerators of all pods, by kind."""
    cost_per_hour: pulumi.Output[str]
    """Price of the accelerators per hour, with currency and date; empty without a price for one of them."""
    kept_claims: pulumi.Output[list[str]]
    """Names of the claims that `pulumi destroy` does not delete."""
    overrides: pulumi.Output[list[str]]
    """Paths of the user's merge patches."""
    next: pulumi.Output[str]
    """The command that shows the status of the job, or its pods if the stack's config names no experiment."""

    def __init__(
        self,
        name: str,
        experiment: Experiment | str,
        environment: Environment | str,
        run: int = 1,
        opts: pulumi.ResourceOptions | None = None,
        *,
        expected_secrets: Sequence[str] = (),
    ) -> None:
        """name: name of the component; the names of its resources begin with it.
        experiment: the experiment, as a model, by its name in `stacks/experiments` or by the path of its file.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        run: number of the run of an unchanged experiment, from 1. Another number makes a new revision.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        expected_secrets: names of the Secrets and ConfigMaps that the program itself makes for the pods, as plain
        text. The preflight does not look for them; name their resources in `depends_on` of `opts`.
        """
        with as_run_error():
            job = check_gates(check_experiment(experiment, environment, run)).or_raise()
            _refuse_unknown_names(expected_secrets)
        self._register(name, job, opts, expected_secrets)

    @classmethod
    def from_rendered(cls, job: RenderedJob, opts: pulumi.ResourceOptions | None = None) -> Self:
        """Register the component for a rendered job, under the experiment's name."""
        component = cls.__new__(cls)
        component._register(job.experiment.name, job, opts)
        return component

    def _register(
        self,
        name: str,
        rendered: RenderedJob,
        opts: pulumi.ResourceOptions | None,
        expected_secrets: Sequence[str] = (),
    ) -> None:
        """Check the job against the live cluster, then register the component and its children."""
        plan, environment = rendered.plan, rendered.environment
        objects = tuple(map(_completed, rendered.manifests))
        with as_run_error():
            secrets = _ssh_secrets(plan)
            outcome = preflight(
                lambda cluster, stack: check_job(cluster, plan, objects, rendered.crds, expected_secrets, stack),
                environment,
            )
        inputs = job_inputs(rendered.experiment, environment, plan)
        super().__init__("trainform:index:TrainingJob", name, inputs.job, opts)
        show_outcome(Outcome(warnings=[*rendered.warnings]) + outcome, self)

        target = target_of(self, environment)
        manifests = {component: [m for m in objects if m.component is component] for component in Component}
        parts = self._parts(plan, inputs, manifests, target, secrets)
        before: list[pulumi.Input[pulumi.Resource]] = [each for part in parts for each in part.objects.values()]
        of_job = manifests[Component.JOB]
        number = next(number for number, manifest in enumerate(of_job) if manifest.is_job)
        before += [
            register(manifest, self, target, name, spec_inputs=_own_queue(plan, manifest, parts))
            for manifest in of_job[:number]
        ]
        job = register(of_job[number], self, target, name, before, _own_queue(plan, of_job[number], parts))
        for manifest in of_job[number + 1 :]:  # the record of the job, which stays as it is if anything before it fails
            register(manifest, self, target, name, [*before, after_attempt(job, self)])

        cost = plan.totals.cost_per_hour
        outputs = {
            "job": plan.job,
            "revision": plan.revision,
            "namespace": plan.namespace,
            "queue": plan.queue.name,
            "master": f"{plan.rendezvous.address}:{plan.rendezvous.port}",
            "nodes": plan.world.nodes,
            "processes": plan.world.processes,
            "accelerators": plan.totals.accelerators,
            "cost_per_hour": "" if cost is None else cost.dated,
            "kept_claims": [claim.name for claim in plan.claims if claim.request.keep],
            "overrides": list(plan.overrides),
            "next": look_command(plan, environment),
        }
        set_outputs(self, outputs)

    def _parts(
        self,
        plan: Plan,
        inputs: JobInputs,
        manifests: Mapping[Component, Sequence[Manifest]],
        target: Target,
        secrets: Mapping[str, pulumi.Input[Any]] | None,
    ) -> list[Part]:
        """Register the child components and return them; the job object is created after their objects."""
        master = f"{plan.rendezvous.address}:{plan.rendezvous.port}"
        rendezvous = {"service": plan.rendezvous.service, "master": master}
        kinds: list[tuple[type[Part], Component, Mapping[str, Any] | None, dict[str, Any]]] = [
            (TrainingQueue, Component.QUEUE, inputs.queue, {}),
            (SharedStorage, Component.STORAGE, inputs.storage, {}),
            (Rendezvous, Component.RENDEZVOUS, inputs.rendezvous, {"outputs": rendezvous}),
            (SshIdentity, Component.SSH, inputs.ssh, {"secrets": secrets}),
        ]
        return [
            *(
                kind.create_for_job(self, component.value, user_set, manifests[component], target, **options)
                for kind, component, user_set, options in kinds
                if user_set is not None
            ),
            *(
                RoleGroup.create_for_job(self, _group(name), user_set, [], target, _role_outputs(plan, name))
                for name, user_set in inputs.roles.items()
            ),
        ]


def _refuse_unknown_names(names: Sequence[str]) -> None:
    """Raise `InputError` for an output or a resource: its name may be known only after the preflight."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        reason = "the preflight compares names before anything is registered, so they must be known"
        raise InputError(
            [Problem("expected_secrets", None, reason, 'write a list of texts: expected_secrets=["hf-token"]')]
        )


def _group(role: str) -> str:
    """Return the last part of the name of a role's component. Dashes are doubled, so that `llama` with a role
    `eval-worker` and `llama-eval` with a role `worker` have different names."""
    return role.replace("-", "--")


def _role_outputs(plan: Plan, name: str) -> dict[str, Any]:
    """Return the number of the role's pods, and the ranks of the first and the last pod."""
    parts = [role for role in plan.roles if role.written == name]
    pods = sum(role.replicas for role in parts)
    return {"replicas": pods, "ranks": [parts[0].rank(0), parts[-1].rank(parts[-1].replicas - 1)][:pods]}


def _own_queue(plan: Plan, manifest: Manifest, parts: Iterable[Part]) -> Mapping[str, pulumi.Input[Any]]:
    """Return the field `queue` as an output of the job's own queue, so that it is created first; otherwise empty."""
    queue = next((part.queue for part in parts if isinstance(part, TrainingQueue)), None)
    if queue is None or manifest.body.get("spec", {}).get("queue") != plan.queue.name:
        return {}
    return {"queue": queue}


def _ssh_secrets(plan: Plan) -> Mapping[str, pulumi.Input[Any]] | None:
    """Return the files of the job's SSH identity; None if the job has no identity, or the user's own."""
    if plan.ssh is None or not plan.ssh.made:
        return None
    return private_files(ssh_names(plan), plan.ssh.rotation)


def _completed(manifest: Manifest) -> Manifest:
    """Return the object; a record with the version of trainform and the stack.

    `trainform render` prints neither, so that its output is the same in each version and stack.
    """
    if not manifest.is_record:
        return manifest
    body = copy.deepcopy(manifest.body)
    body["data"]["version"] = version("trainform")
    body["metadata"]["annotations"][defaults.STACK_ANNOTATION] = f"{pulumi.get_project()}/{pulumi.get_stack()}"
    return structs.replace(manifest, body=body)
