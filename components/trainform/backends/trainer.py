"""Kubeflow Trainer: `trainer.kubeflow.org/v1alpha1`, a TrainingRuntime and the TrainJob that runs it, both of this job alone.

A TrainJob can change little of its runtime, so what the pods are stands in the runtime; the TrainJob counts nodes and processes. Only
its `suspend` changes in place. Ranks follow from the completion index, with the plan's own launch script, rendezvous and SSH.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainform.backends import jobset
from trainform.backends.decided import changes, labels_of
from trainform.backends.gangs import QUEUE_ANNOTATION, QUEUE_LABEL, queue_labels
from trainform.backends.replicated_jobs import DECIDED, SHAPE, labelled_role
from trainform.backends.replicated_jobs import INDEX_LABEL as INDEX
from trainform.backends.replicated_jobs import endings as replicated_endings
from trainform.backends.replicated_jobs import templates as replicated_templates
from trainform.backends.runtimes import ML_POLICY, POD_GROUP_POLICY, Wanted, runtime_findings
from trainform.backends.runtimes_checked import named_problems
from trainform.backends.runtimes_named import named_endings, named_spec, named_templates
from trainform.backends.support import Fields, done_by, noted, refused
from trainform.backends.trainer_pods import controller_objects
from trainform.backends.trainer_runtime import (
    LAUNCHER,
    MPI,
    MPI_VARIABLES,
    MPI_VOLUMES,
    NODE,
    TORCH_VARIABLES,
    num_nodes,
    operator_of,
    policy,
    processes_per_node,
    runtime_spec,
)
from trainform.catalog import defaults
from trainform.errors import InputError, Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import experiment_labels, job_metadata
from trainform.manifests.shape import METADATA
from trainform.plan.model import Ending, Plan
from trainform.policy.templates import Template

GROUP = "trainer.kubeflow.org"
API_VERSION = f"{GROUP}/v1alpha1"
KIND, RUNTIME_KIND = "TrainJob", "TrainingRuntime"
INDEX_LABEL = INDEX
ADDS = (
    "`JOB_COMPLETION_INDEX`; hostname and subdomain of every pod, as planned. With one ranked role on the pod network (torch policy) "
    f"{', '.join(f'`{name}`' for name in TORCH_VARIABLES)}: the process sees the plan's rendezvous in the last two. With mpi (mpi policy) in "
    f"the pod that launches {', '.join(f'`{name}`' for name in MPI_VARIABLES)}, where the plan's values win, and Trainer's own hostfile at "
    f"`{MPI_VOLUMES['mpi-hostfile']}` and key at `{MPI_VOLUMES['mpi-ssh-auth']}`, which the launch script does not need"
)
MAKES = f"TrainingRuntime and TrainJob (`{API_VERSION}`)"
ENDS = "`successPolicy` of the runtime's JobSet, as with jobset; on a runtime that is named, what that says"
ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE)
IN_PLACE = ("spec.suspend",)
_PATCHED = "spec.runtimePatches.*.trainingRuntimeSpec.template"
_DECIDED = {
    "job": (
        f"metadata.labels.{QUEUE_LABEL}",
        "spec.runtimeRef.kind",
        "spec.runtimeRef.name",
        "spec.trainer.numNodes",
        "spec.trainer.numProcPerNode",
        f"{_PATCHED}.metadata.annotations.{QUEUE_ANNOTATION}",
        *labels_of(f"{_PATCHED}.spec.replicatedJobs.*.template.spec.template"),
    ),
    "runtime": (
        f"spec.template.metadata.annotations.{QUEUE_ANNOTATION}",
        *(f"spec.template.spec.{path}" for path in DECIDED),
    ),
}
JOB_SHAPE = {"runtimeRef!": {"name!": str, "kind!": str}, "trainer!": {"numNodes!": int, "numProcPerNode": int}}

_POLICIES = refused("are lifecycle policies of Volcano, and Trainer has none", "remove them, and say it in `restart`")
FIELDS: Fields = {
    "queue": done_by(
        "Volcano: the annotation `scheduling.volcano.sh/queue-name` of the runtime's template, from which Trainer makes a PodGroup; "
        "Kueue: the label `kueue.x-k8s.io/queue-name`, a LocalQueue"
    ),
    "restart": jobset.FIELDS["restart"],
    "max_retry": jobset.FIELDS["max_retry"],
    "ttl": done_by("`ttlSecondsAfterFinished` of the JobSet: the pods go, the TrainJob stays"),
    "policies": _POLICIES,
    "roles.*.policies": _POLICIES,
    "roles": done_by(
        "a replicated job each: `node` is the first ranked one, which `numNodes` of the TrainJob counts; with mpi `launcher` and `node`, and no further ranked one"
    ),
    "roles.*.replicas": done_by("a change is a new revision; a role with 0 is left out"),
    "roles.*.min_available": done_by("Volcano: refused unless it is all of the role's pods"),
    "network.ports": done_by("a replicated job for each replica; refused with mpi"),
    "network.topology": done_by("Volcano: `podGroupPolicy.volcano.networkTopology`"),
    "network.topology.highest_tier_name": refused(
        "has no word in a TrainingRuntime, which knows tiers by number", "write `highest_tier` with its number"
    ),
    "runtime": noted("its pods are the runtime's, checked where `file` has it, and again at `up`; the TrainJob brings image, command, variables, resources and volumes"),
    "launcher.mpi": done_by("the mpi policy; `runLauncherAsNode` where the role that launches is ranked"),
    "launcher.mpi.processes_per_node": done_by("`numProcPerNode`"),
    "launcher.torchrun.elastic": noted(
        "Trainer has a fixed number of pods: another number of replicas is a new revision here"
    ),
}  # fmt: skip


def crds(plan: Plan) -> tuple[str, ...]:
    """The TrainJob, its runtime, and the JobSet that Trainer makes of them."""
    kind = RUNTIME_KIND if plan.runtime is None else plan.runtime.kind
    return (f"trainjobs.{GROUP}", f"{kind.lower()}s.{GROUP}", *jobset.crds(plan))


def shapes(plan: Plan) -> dict[str, Any]:
    """The TrainJob's and the runtime's."""
    template = {"metadata": {"annotations": {"*": str}}, "spec!": SHAPE}
    runtime = {"mlPolicy!": ML_POLICY, "podGroupPolicy": POD_GROUP_POLICY, "template!": template}
    own = {} if plan.runtime is not None else {"runtime": {"metadata!": METADATA, "spec!": runtime}}
    return {"job": {"metadata!": METADATA, "spec!": JOB_SHAPE}, **own}


def problems(plan: Plan) -> Iterator[Problem]:
    """What its names, its policies and its gang have no room for."""
    yield from jobset.problems(plan)
    yield from _group_problems(plan)
    yield from _gang_problems(plan)
    if plan.runtime is not None:
        yield from named_problems(plan, plan.runtime)
    elif policy(plan) == MPI:
        yield from _mpi_problems(plan)


def operator(plan: Plan) -> Operator:
    """What pod templates must know of it."""
    return operator_of(plan)


def files(plan: Plan) -> dict[str, str]:
    """None."""
    return {}


def further(plan: Plan) -> list[Manifest]:
    """The runtime, where none is named; the PodGroup is Trainer's to make."""
    if plan.runtime is not None:
        return []
    metadata = {"name": plan.job, "namespace": plan.namespace, "labels": experiment_labels(plan)}
    body = {"apiVersion": API_VERSION, "kind": RUNTIME_KIND, "metadata": metadata, "spec": runtime_spec(plan)}
    return [Manifest("runtime", body, revision=plan.revision)]


def job(plan: Plan) -> Manifest:
    """The TrainJob."""
    own = {
        "runtimeRef": {"apiGroup": GROUP, "kind": RUNTIME_KIND, "name": plan.job},
        # never left out: without it Trainer adds none of its variables
        "trainer": without_empty({"numNodes": num_nodes(plan), "numProcPerNode": processes_per_node(plan)}),
    }
    spec = own if plan.runtime is None else named_spec(plan, plan.runtime)
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": job_metadata(plan, queue_labels(plan)), "spec": spec}
    return Manifest("job", body, revision=plan.revision)


def templates(plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
    """Of each replicated job of the runtime; where it is named, what the experiment asks for."""
    if plan.runtime is not None:
        return named_templates(plan)
    return replicated_templates(_runtime(manifests)["spec"]["template"]["spec"])


def pods(plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Those of the JobSet that Trainer makes, and its hostfile; InputError where only the cluster has the runtime."""
    if plan.runtime is None:
        return controller_objects(_runtime(manifests), job_body(manifests))
    if plan.runtime.content is None:
        fix = "write `file:` with the runtime, or rehearse --from-cluster"
        raise InputError(
            [Problem("runtime", plan.runtime.name, "is in the cluster alone, so its pods are not known", fix)]
        )
    return controller_objects(plan.runtime.content, job_body(manifests))


def endings(plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
    """By the success policy of the runtime."""
    if plan.runtime is not None:
        return named_endings(plan, plan.runtime)
    return replicated_endings(_runtime(manifests)["spec"]["template"]["spec"], labelled_role)


def replanned(key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Queue, counts and runtime of the TrainJob; in the runtime what the controller would refuse or silently leave out, then as in a JobSet."""
    yield from changes(_DECIDED[key], rendered, patched)
    if key == "job":
        return
    wanted = Wanted(of_rendered(rendered["spec"]))
    before = {*runtime_findings(rendered["spec"], wanted)}
    found = [finding for finding in runtime_findings(patched["spec"], wanted) if finding not in before]
    yield from ((f"spec.{finding.path}", finding.text) for finding in found)


def of_rendered(spec: dict[str, Any]) -> int:
    """Nodes that the runtime was rendered for."""
    counted = {NODE, LAUNCHER} if spec["mlPolicy"].get(MPI, {}).get("runLauncherAsNode") else {NODE}
    jobs = spec["template"]["spec"]["replicatedJobs"]
    return sum(job["template"]["spec"]["parallelism"] for job in jobs if job["name"] in counted)


def _runtime(manifests: Sequence[Manifest]) -> dict[str, Any]:
    return next(manifest.body for manifest in manifests if manifest.key == "runtime")


def _group_problems(plan: Plan) -> Iterator[Problem]:
    """Names that Trainer gives a meaning of its own."""
    reserved = {LAUNCHER, NODE} if policy(plan) == MPI else {NODE}
    for role in plan.roles:
        called = role.name == role.group and role.group in reserved  # so it is no more than two roles
        others = (
            [other.name for other in plan.roles if other.group == role.group and other.name != role.name]
            if called
            else []
        )
        if called and (others or not role.launched):
            reason = f"is what Trainer calls {f'the pods of {others[0]}' if others else 'pods of the training world'}"
            yield Problem(f"roles.{role.name}", None, reason, "rename it")
        for index, init in enumerate(role.init):
            if init.name == NODE:
                path = f"{role.init_path(index)}.name"
                yield Problem(path, init.name, "is what Trainer calls the main container", "rename it")


def _gang_problems(plan: Plan) -> Iterator[Problem]:
    """Trainer's PodGroup is all pods."""
    if plan.admission == defaults.KUEUE:
        return
    reason = "lets a part of the pods start, and Trainer's gang is all of them"
    for role in plan.roles:
        if role.min_available == role.replicas:
            continue
        if role.ranked and plan.world.bounds is not None:
            fix = f"write {plan.world.nodes}, or use another backend"
            yield Problem("launcher.torchrun.elastic.min_nodes", plan.world.bounds[0], reason, fix)
            return
        fix = "remove it, or use another backend"
        yield Problem(f"roles.{role.name}.min_available", role.min_available, reason, fix)


def _mpi_problems(plan: Plan) -> Iterator[Problem]:
    """One kind of node beside the launcher, one number of processes for all, and room for what Trainer mounts."""
    nodes = [role.name for role in plan.ranked if role.name != plan.launches]
    if len(nodes) > 1:
        reason = "is a second kind of node, and Trainer's MPI policy has one beside the launcher"
        yield Problem(f"roles.{nodes[1]}", None, reason, f"make {' and '.join(nodes)} one role")
    slots = {host.slots for host in plan.hosts}
    if len(slots) > 1:
        reason = f"run different numbers of processes ({', '.join(map(str, sorted(slots)))}), and Trainer has one for all nodes"
        yield Problem("roles", None, reason, "give them the same accelerators, or write `processes_per_node`")
    for role in plan.roles:
        if role.per_replica:
            reason = "gives every replica a template of its own, and the nodes of Trainer's MPI policy share one"
            yield Problem("network.ports", "per-replica", reason, "remove it; every pod then has a node of its own")
            return
        for mount in role.mounts if role.group in (NODE, LAUNCHER) else ():
            if mount.path.rstrip("/") in MPI_VOLUMES.values():
                reason = "is where Trainer mounts files of its own"
                yield Problem(f"storage.{mount.volume}.mount", mount.path, reason, "choose another path")
            if mount.volume in MPI_VOLUMES:
                reason = "is the name of a volume that Trainer adds"
                yield Problem(f"storage.{mount.volume}", None, reason, "choose another name")
