"""The TrainingRuntime of a job: its template is a JobSet's spec, one replicated job for each group of pods, and a
policy.

Source: Kubeflow Trainer 2.3.0, `pkg/runtime` (core and the plugins torch, mpi, plainml, jobset, volcano).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import QUEUE_ANNOTATION, SCHEDULER, topology
from trainform.backends.jobset.spec import replicated_jobs_spec
from trainform.backends.kubernetes.indexed_job import INDEX_LABEL, INDEX_VARIABLE
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import mapping, without_empty
from trainform.plan.model import Group, Plan

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"  # value of the label on the replicated job that `spec.trainer` of the TrainJob configures
NODE, LAUNCHER = "node", "launcher"  # names of replicated jobs; `node` is the name of the main container of both

TTL = "ttlSecondsAfterFinished"
# Source: `Reconcile`, which forgets that a TrainJob has failed before it looks for its JobSet.
RUN_AGAIN = "Trainer makes a failed job's JobSet again when it is deleted (kubeflow/trainer#3737)"

TORCH, MPI, PLAIN = "torch", "mpi", "plain"
TORCH_PORT = 29500
# Trainer overwrites these variables in the container `node`.
TORCH_VARIABLES = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
MPI_VARIABLES = (
    "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots",
    "OMPI_MCA_plm_rsh_args",
)
VARIABLES = {TORCH: TORCH_VARIABLES, MPI: MPI_VARIABLES, PLAIN: ()}
# Trainer's values contain the TrainJob's name, which has the revision in it, and Trainer's own port. These are replaced
# by the plan's or the user's values.
RENDEZVOUS = {"PET_MASTER_ADDR": "MASTER_ADDR", "PET_MASTER_PORT": "MASTER_PORT"}

HOSTFILE_MOUNT = "/etc/mpi"
# Not ~/.ssh, where the plan's own identity is: Trainer's Secret has no host key, no known hosts and no port. Its
# private key is readable for the group (0640), and OpenSSH refuses such a key if the user owns it, as root does in a
# container.
SSH_MOUNT = "/etc/mpi-ssh"
MPI_VOLUMES = {"mpi-ssh-auth": SSH_MOUNT, "mpi-hostfile": HOSTFILE_MOUNT}

_OF_TORCH = frozenset({"torchrun", "accelerate", "command"})


def policy(plan: Plan) -> str:
    """Return the policy of Trainer for the plan. The torch policy is for one ranked role on the pod network: on the
    host network it would use port 29500 of every node besides the planned port. A job without a policy gets all its
    variables from the plan."""
    if plan.launcher == "mpi":
        return MPI
    return TORCH if plan.launcher in _OF_TORCH and len(plan.ranked) == 1 and not plan.host_network else PLAIN


def conventions_of(plan: Plan) -> PodConventions:
    """Return the index by the label of Indexed Jobs. The main container of every role has the name that Trainer needs
    for its own."""
    appended = frozenset([INDEX_VARIABLE, *VARIABLES[policy(plan)]])
    return PodConventions(INDEX_LABEL, appended=appended, container=NODE, job_deadline=True)


def runtime_spec(plan: Plan) -> dict[str, Any]:
    """Return the spec of the TrainingRuntime: everything that a TrainJob cannot set. Trainer makes the PodGroup for
    Volcano; its queue is an annotation of the template."""
    template, gang = {"spec": _jobset_spec(plan)}, {}
    if plan.admission == defaults.VOLCANO:
        template = {"metadata": {"annotations": {QUEUE_ANNOTATION: plan.queue.name}}, **template}
        gang = {SCHEDULER: without_empty({"networkTopology": plan.topology and topology(plan.topology)})}
    return without_empty({"mlPolicy": ml_policy(plan), "podGroupPolicy": gang, "template": template})


def num_nodes(plan: Plan) -> int:
    """Return `numNodes` of the TrainJob: the pods of the labelled replicated job. With MPI it is all hosts; the
    controller subtracts one if the launcher is a host too."""
    return plan.world.nodes if policy(plan) == MPI else _counted(plan).replicas


def processes_per_node(plan: Plan) -> int | None:
    """Return `numProcPerNode` of the TrainJob; None if no policy reads it."""
    # the rules report a world without nodes
    return None if policy(plan) == PLAIN else plan.world.processes // max(plan.world.nodes, 1)


def ml_policy(plan: Plan) -> dict[str, Any]:
    """Return `mlPolicy` of the runtime. With MPI its `numNodes` is 1, since it counts the labelled launcher; the
    TrainJob's `numNodes` counts the nodes."""
    kind = policy(plan)
    if kind == PLAIN:
        return {"numNodes": num_nodes(plan)}
    if kind == TORCH:
        return {"numNodes": num_nodes(plan), "torch": {}}
    mpi = {
        "numProcPerNode": processes_per_node(plan),
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": SSH_MOUNT,
        "runLauncherAsNode": any(role.name == plan.launches for role in plan.ranked),
    }
    return {"numNodes": 1, "mpi": mpi}


def _jobset_spec(plan: Plan) -> dict[str, Any]:
    """Return the JobSet's spec of the runtime. Roles without replicas are left out, since the controller makes at least
    one pod for each replicated job. The launcher has no `dependsOn` for the nodes: the gang has all pods and would wait
    for the launcher, which would wait for the gang. The launch script waits instead."""
    present = tuple(role for role in plan.roles if role.replicas > 0)
    # the rules report a job without pods
    spec = replicated_jobs_spec(structs.replace(plan, roles=present if present else plan.roles), conventions_of(plan))
    labelled = LAUNCHER if policy(plan) == MPI else _counted(plan).name
    return {**spec, "replicatedJobs": [_labelled(plan, job, labelled) for job in spec["replicatedJobs"]]}


def _counted(plan: Plan) -> Group:
    """Return the pods that the TrainJob counts: those of `node`, or its first pod if each replica has its own
    template."""
    return next(plan.ranked[0].groups())


def _labelled(plan: Plan, job: dict[str, Any], labelled: str) -> dict[str, Any]:
    if job["name"] != labelled:
        return job
    template = {"metadata": {"labels": {ANCESTOR_LABEL: TRAINER}}, **job["template"]}
    if policy(plan) == TORCH:
        template["spec"] = _with_rendezvous(plan, template["spec"])
    return {**job, "template": template}


def rendezvous_words() -> list[str]:
    """Return the `env` command that sets Trainer's variables to the plan's rendezvous; variables that the user's
    command sets after it win."""
    return ["env", *(f"{name}=$({source})" for name, source in RENDEZVOUS.items())]


def _with_rendezvous(plan: Plan, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the Job with the plan's rendezvous in its nodes."""
    pod = spec["template"]["spec"]
    containers = [
        {**container, "command": [*rendezvous_words(), *container["command"]]}
        if container["name"] == NODE and "command" in container
        else container
        for container in pod["containers"]
    ]
    return {**spec, "template": {**spec["template"], "spec": {**pod, "containers": containers}}}


# --- a rendered runtime, or one of the platform team


def replicated_jobs(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runtime's replicated jobs."""
    jobs: list[dict[str, Any]] = spec["template"]["spec"]["replicatedJobs"]
    return jobs


def ancestor(job: Mapping[str, Any]) -> str | None:
    """Return the part of a TrainJob that configures the replicated job, by its label; None if there is no label."""
    found = mapping(mapping(job["template"].get("metadata")).get("labels")).get(ANCESTOR_LABEL)
    return None if found is None else str(found)


def node_containers(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the containers of a replicated job that Trainer changes, which are called `node`."""
    return [each for each in job["template"]["spec"]["template"]["spec"]["containers"] if each["name"] == NODE]


def runtime_launcher_is_node(spec: Mapping[str, Any]) -> bool:
    """Return True if the runtime's launcher is a node too."""
    return bool(spec.get("mlPolicy", {}).get(MPI, {}).get("runLauncherAsNode", False))


def node_pods(spec: Mapping[str, Any], nodes: int) -> int:
    """Return the number of pods of the replicated job `node` with the MPI policy, at least one. A launcher that is a
    node is one of `nodes`."""
    return max(nodes - 1, 1) if runtime_launcher_is_node(spec) else nodes
