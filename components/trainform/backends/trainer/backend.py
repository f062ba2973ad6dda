"""Kubeflow Trainer: `trainer.kubeflow.org/v1alpha1`, a TrainingRuntime and the TrainJob that runs it, both for one job
alone.

A TrainJob can change little of its runtime, so the runtime defines the pods, and the TrainJob sets the numbers of nodes
and processes. Only its `suspend` can change in place. Ranks are computed from the completion index, with the plan's own
launch script, rendezvous and SSH.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import QUEUE_ANNOTATION, QUEUE_LABEL, queue_labels, whole_gang_problems
from trainform.backends.backend import DEADLINE, Backend, Existing
from trainform.backends.jobset.backend import JobSet
from trainform.backends.jobset.spec import templates as replicated_templates
from trainform.backends.outcome import by_condition, ends_with_role
from trainform.backends.support import Fields, done_by, fixed_size, no_policies, noted, pods_stay, refused
from trainform.backends.trainer.controller import controller_objects
from trainform.backends.trainer.existing_runtime import (
    check_runtime,
    counted,
    named_problems,
    named_spec,
    named_templates,
)
from trainform.backends.trainer.pods import PODS, changed
from trainform.backends.trainer.runtime import (
    HOSTFILE_MOUNT,
    LAUNCHER,
    MPI,
    MPI_VARIABLES,
    MPI_VOLUMES,
    NODE,
    RUN_AGAIN,
    TORCH_VARIABLES,
    TRAINER,
    ancestor,
    conventions_of,
    num_nodes,
    policy,
    processes_per_node,
    replicated_jobs,
    runtime_spec,
)
from trainform.errors import InputError, Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, object_body, without_empty
from trainform.manifests.objects import experiment_labels, job_manifest
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan
from trainform.plan.operator import Naming, Operator
from trainform.plan.world import launching_role
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

GROUP = "trainer.kubeflow.org"
RUNTIME_KIND = "TrainingRuntime"
_JOBSET = JobSet()  # Trainer makes a JobSet from a TrainJob

_LATE_REFUSALS = (("untime", "not found"),)  # Trainer's webhook and Kueue's read the runtime from their own caches

API_VERSION = f"{GROUP}/v1alpha1"


class Trainer(Backend):
    """Kubeflow Trainer: a TrainJob and the runtime that it names."""

    OPERATORS = (
        Operator(
            "Kubeflow Trainer",
            GROUP,
            API_VERSION,
            "kubeflow-system/kubeflow-trainer-controller-manager",
            ("trainjobs", "trainingruntimes"),
        ),
    )
    PODS = PODS
    RESTARTS = JobSet.RESTARTS
    OUTCOME = by_condition("Complete")

    MAKES = f"TrainingRuntime and TrainJob (`{API_VERSION}`)"
    ENDS = "`successPolicy` of the runtime's JobSet; an existing runtime decides itself"
    ADDS = (
        "`JOB_COMPLETION_INDEX`; with one ranked role on the pod network "
        f"{', '.join(f'`{name}`' for name in TORCH_VARIABLES)}; with mpi, in the pod that launches, "
        f"{', '.join(f'`{name}`' for name in MPI_VARIABLES)}, a hostfile at `{MPI_VOLUMES['mpi-hostfile']}` and a key "
        f"at `{MPI_VOLUMES['mpi-ssh-auth']}`"
    )

    INDEX_LABEL = JobSet.INDEX_LABEL
    JOB_LABEL = JobSet.JOB_LABEL
    POD_KEYS = JobSet.POD_KEYS
    ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE, defaults.NONE)
    SUSPENDED = ("spec.suspend",)
    IN_PLACE = SUSPENDED
    FIELDS: ClassVar[Fields] = {
        "queue": JobSet.FIELDS["queue"],
        "restart": JobSet.FIELDS["restart"],
        "max_retry": JobSet.FIELDS["max_retry"],
        "max_run_time": done_by(f"`{DEADLINE}` of the TrainJob"),
        "ttl": refused(f"{RUN_AGAIN}, so that it would train for ever", "remove it", elsewhere=True),
        **no_policies("Trainer"),
        **pods_stay("Trainer"),
        "roles": done_by(
            "`node` is the first ranked role, which `numNodes` of the TrainJob counts; with mpi no other ranked role "
            "but `launcher`"
        ),
        "roles.*.replicas": done_by("a change is a new revision; 0 leaves the role out"),
        "roles.*.min_available": done_by("only the number of all pods of the role"),
        "network.ports": done_by("a replicated job for each replica; refused with mpi"),
        "network.wait": done_by("with mpi on an existing runtime, mpirun starts even if the wait fails"),
        "network.topology.highest_tier_name": refused(
            "a TrainingRuntime has tiers by number only", "write `highest_tier` with its number"
        ),
        "runtime": noted(
            "the pods are those of the runtime, which `check` sees where `file` has it, and `up` in the cluster; the "
            "TrainJob brings image, command, variables, resources and volumes",
            "leave it out for a runtime of the job's own",
        ),
        "launcher.torchrun.elastic": fixed_size("Trainer"),
    }

    READS = frozenset([QUEUE_LABEL, QUEUE_ANNOTATION])
    # The gang of a TrainJob always has all of its pods, and their number is fixed.
    LACKS = frozenset(["roles.*.min_available", "launcher.torchrun.elastic"])

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """Return the names of a JobSet. With an existing runtime the subdomain is the name of the TrainJob, and Trainer
        writes the hostfile."""
        naming = _JOBSET.naming(experiment, environment)
        if experiment.runtime is None:
            return naming
        hostfile = f"{HOSTFILE_MOUNT}/hostfile"
        return structs.replace(naming, address="{pod}.{job}", own_service=False, hostfile=hostfile)

    def groups(self, experiment: Experiment) -> dict[str, str]:
        """Return the names of the roles, with `node` for the first ranked role, whose pods the policies count. With MPI
        `launcher` is the launching role, and `node` the first other one."""
        launching = launching_role(experiment) if experiment.launcher.mpi is not None else None
        node = next((name for name, role in experiment.roles.items() if role.ranked and name != launching), None)
        words = {launching: LAUNCHER, node: NODE}
        return {name: words.get(name, name) for name in experiment.roles}

    def crds(self, plan: Plan) -> tuple[str, ...]:
        """Return the definitions of the TrainJob, its runtime, and the JobSet that Trainer makes from them."""
        kind = RUNTIME_KIND if plan.runtime is None else plan.runtime.kind
        return (f"trainjobs.{GROUP}", f"{kind.lower()}s.{GROUP}", *_JOBSET.crds(plan))

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with names, policies and gangs that Trainer does not support, and with an existing runtime."""
        yield from _JOBSET.problems(plan)
        yield from _group_problems(plan)
        if plan.admission == defaults.VOLCANO:
            reason = "the value lets a part of the pods start, and Trainer's gang always has all of them"
            yield from whole_gang_problems(plan, reason, "use another backend")
        if plan.runtime is not None:
            yield from named_problems(plan, plan.runtime)
        elif policy(plan) == MPI:
            yield from _mpi_problems(plan)

    def existing(self, plan: Plan) -> tuple[Existing, ...]:
        """Return the existing runtime that the experiment names, since its file may be older than the object in the
        cluster."""
        runtime = plan.runtime
        if runtime is None:
            return ()
        namespace = plan.namespace if runtime.kind == RUNTIME_KIND else None
        plural = f"{runtime.kind.lower()}s"

        def problems(content: dict[str, Any]) -> list[tuple[str, str]]:
            return [(f"{each.path} {each.reason}", each.fix) for each in check_runtime(content, plan, runtime)]

        fix = "leave `runtime` out"
        return (Existing(API_VERSION, runtime.kind, plural, runtime.name, namespace, fix, problems),)

    def conventions(self, plan: Plan) -> PodConventions:
        return conventions_of(plan)

    def prerequisites(self, plan: Plan) -> list[Manifest]:
        """Return the runtime, if the experiment names none. Trainer makes the PodGroup."""
        if plan.runtime is not None:
            return []
        labels, spec = experiment_labels(plan), runtime_spec(plan)
        body = object_body(RUNTIME_KIND, plan.job, plan.namespace, labels, api_version=API_VERSION, spec=spec)
        return [Manifest("runtime", body, revision=plan.revision)]

    def job(self, plan: Plan) -> Manifest:
        own = {
            "runtimeRef": {"apiGroup": GROUP, "kind": RUNTIME_KIND, "name": plan.job},
            # this field is always set: without it Trainer adds none of its variables
            "trainer": without_empty({"numNodes": num_nodes(plan), "numProcPerNode": processes_per_node(plan)}),
        }
        spec = own if plan.runtime is None else named_spec(plan, plan.runtime)
        spec = without_empty({**spec, DEADLINE: plan.max_run_seconds})
        return job_manifest(plan, "TrainJob", spec, labels=queue_labels(plan), late_refusals=_LATE_REFUSALS)

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """Return the pods of the runtime's replicated jobs; for an existing runtime, the pods as the experiment
        describes them. What a merge patch of the TrainJob changes in them is applied."""
        job = job_body(manifests)
        run_time = job["spec"].get(DEADLINE)
        runtime = None if plan.runtime is not None else _runtime(manifests)["spec"]
        found = named_templates(plan) if runtime is None else replicated_templates(runtime["template"]["spec"])
        if "job" in plan.manifest_overrides:
            jobs = [] if runtime is None else replicated_jobs(runtime)
            names = [each["name"] for each in jobs] if jobs else [role.group for role in plan.roles]
            trained = next((each["name"] for each in jobs if ancestor(each) == TRAINER), counted(plan).group)
            found = [changed(template, name, trained, job) for template, name in zip(found, names, strict=True)]
        return [template if run_time is None else structs.replace(template, run_time=run_time) for template in found]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        """Return the pods of the JobSet that Trainer makes, and its hostfile. Raises InputError if the content of an
        existing runtime is not known."""
        if plan.runtime is None:
            return controller_objects(_runtime(manifests), job_body(manifests))
        if plan.runtime.content is None:
            reason = "only the cluster has the runtime, so its pods are not known"
            fix = "write `file:` with the runtime, or rehearse --from-cluster"
            raise InputError([Problem("runtime", plan.runtime.name, reason, fix)])
        return controller_objects(plan.runtime.content, job_body(manifests))

    def rehearsed(self, plan: Plan, manifests: Sequence[Manifest]) -> Sequence[Manifest]:
        """Return the objects with the existing runtime from its file. Its pods have what the TrainJob changes in them,
        which the TrainJob no longer has."""
        if plan.runtime is None or plan.runtime.content is None:
            return manifests
        runtime, job = copy.deepcopy(plan.runtime.content), job_body(manifests)
        jobs = replicated_jobs(runtime["spec"])
        trained = next(each["name"] for each in jobs if ancestor(each) == TRAINER)
        for each in jobs:
            pods = each["template"]["spec"]
            pods["template"] = copy.deepcopy(changed(Template(1, 1, pods["template"]), each["name"], trained, job).body)
        spec = job["spec"]
        kept = ("numNodes", "numProcPerNode", "env")  # with MPI the variables are also for nodes that do not launch
        spec["trainer"] = {key: value for key, value in spec["trainer"].items() if key in kept}
        for patch in spec["runtimePatches"]:
            patch["trainingRuntimeSpec"]["template"].pop("spec", None)
        place = {"namespace": plan.namespace} if plan.runtime.kind == RUNTIME_KIND else {}
        runtime["metadata"] = {"name": plan.runtime.name, **place}
        return [Manifest("runtime", runtime), *manifests]

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        """Return what ends the job. `up` checks an existing runtime of the cluster against it."""
        runtime, condition = plan.runtime, ""
        if runtime is not None and runtime.content is None:
            condition = f", if the {runtime.kind} {runtime.name} says so"
        return ends_with_role(plan, plan.ending_role, condition)


def _runtime(manifests: Sequence[Manifest]) -> dict[str, Any]:
    return next(manifest.body for manifest in manifests if manifest.key == "runtime")


def _group_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with names that have a meaning of their own in Trainer."""
    reserved = {LAUNCHER, NODE} if policy(plan) == MPI else {NODE}
    for role in plan.roles:
        called = role.name == role.group and role.group in reserved  # so it is no more than two roles
        others = (
            [other.name for other in plan.roles if other.group == role.group and other.name != role.name]
            if called
            else []
        )
        if called and (others or not (role.launched or role.ranked)):
            reason = f"Trainer gives this name to {f'the pods of {others[0]}' if others else 'pods with a rank'}"
            yield Problem(f"roles.{role.name}", None, reason, "rename it")


def _mpi_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with Trainer's MPI policy, which has one role of nodes besides the launcher, one number of
    processes for all, and one pod template for all nodes."""
    nodes = [role.name for role in plan.ranked if role.name != plan.launches]
    if len(nodes) > 1:
        reason = (
            f"Trainer's MPI policy has one ranked role besides the launcher, and the role {nodes[0]} is that already"
        )
        yield Problem(f"roles.{nodes[1]}", None, reason, f"make {' and '.join(nodes)} one role")
    slots = {host.slots for host in plan.hosts}
    if len(slots) > 1:
        counts = ", ".join(map(str, sorted(slots)))
        reason = f"the nodes run different numbers of processes ({counts}), and Trainer has one number for all nodes"
        yield Problem("roles", None, reason, "give them the same accelerators, or write `processes_per_node`")
    if any(role.per_replica for role in plan.roles):
        reason = "the value gives each replica its own pod template, and the nodes of Trainer's MPI policy share one"
        yield Problem("network.ports", "per-replica", reason, "remove it; every pod then has a node of its own")
