"""The TrainingRuntime of a job: its template is a JobSet's spec, one replicated job for each group of pods, and a policy.

Source: Kubeflow Trainer 2.3.0, `pkg/runtime` (core and the plugins torch, mpi, plainml, jobset, volcano).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from trainform.backends.gangs import QUEUE_ANNOTATION, SCHEDULER, topology
from trainform.backends.replicated_jobs import INDEX_LABEL, INDEX_VARIABLE, replicated_jobs_spec
from trainform.catalog import defaults
from trainform.manifests.env import Operator
from trainform.manifests.manifest import without_empty
from trainform.manifests.shape import intact
from trainform.plan.model import Group, Plan

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"  # value of the label on the replicated job that `spec.trainer` of the TrainJob speaks of
NODE, LAUNCHER = "node", "launcher"  # names of replicated jobs; `node` is the name of the main container of both

TORCH, MPI, PLAIN = "torch", "mpi", "plain"
TORCH_PORT = 29500
# Written into the container `node` over what stands there.
TORCH_VARIABLES = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
MPI_VARIABLES = (
    "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots",
    "OMPI_MCA_plm_rsh_args",
)
VARIABLES = {TORCH: TORCH_VARIABLES, MPI: MPI_VARIABLES, PLAIN: ()}
# Trainer always takes the TrainJob's name for the subdomain, which follows the revision, and its own port; ours are those of the plan, or
# the user's.
RENDEZVOUS = {"PET_MASTER_ADDR": "MASTER_ADDR", "PET_MASTER_PORT": "MASTER_PORT"}

HOSTFILE_MOUNT = "/etc/mpi"
# Not in ~/.ssh, which holds the plan's own identity: Trainer's Secret has neither a host key nor known hosts nor a port, and it gives its
# private key to the group (0640), which OpenSSH refuses to the key's owner, so to every container that runs as root.
SSH_MOUNT = "/etc/mpi-ssh"
MPI_VOLUMES = {"mpi-ssh-auth": SSH_MOUNT, "mpi-hostfile": HOSTFILE_MOUNT}

_OF_TORCH = frozenset({"torchrun", "accelerate", "command"})


def policy(plan: Plan) -> str:
    """Which of Trainer's policies fits. Torch's where what it says of the world is so: one ranked role, and on the pod network, since it
    would take port 29500 of every node beside the planned one. What has no policy gets all its variables from the plan alone."""
    if plan.launcher == "mpi":
        return MPI
    return TORCH if plan.launcher in _OF_TORCH and len(plan.ranked) == 1 and not plan.host_network else PLAIN


def operator_of(plan: Plan) -> Operator:
    """The index by the label of Indexed Jobs; the main container of every role is called as Trainer wants those of its own."""
    appended = frozenset([INDEX_VARIABLE, *VARIABLES[policy(plan)]])
    return Operator(INDEX_LABEL, appended=appended, container=NODE)


def runtime_spec(plan: Plan) -> dict[str, Any]:
    """The spec of the TrainingRuntime: all that a TrainJob cannot say, which is nearly everything."""
    return without_empty(
        {
            "mlPolicy": ml_policy(plan),
            "podGroupPolicy": _pod_group_policy(plan),
            "template": without_empty({"metadata": _template_metadata(plan), "spec": _jobset_spec(plan)}),
        }
    )


def num_nodes(plan: Plan) -> int:
    """What the TrainJob says: pods of the labelled replicated job; with MPI all hosts, of which the controller takes one off for a launcher
    that is a host too."""
    return plan.world.nodes if policy(plan) == MPI else _counted(plan).replicas


def processes_per_node(plan: Plan) -> int | None:
    """What the TrainJob says, None where no policy reads it."""
    # a world without nodes is told elsewhere
    return None if policy(plan) == PLAIN else plan.world.processes // max(plan.world.nodes, 1)


def launcher_is_node(plan: Plan) -> bool:
    """Whether the pod that launches computes too."""
    return any(role.name == plan.launches and role.ranked for role in plan.roles)


def ml_policy(plan: Plan) -> dict[str, Any]:
    """The policy. With MPI `numNodes` would count the launcher, which carries the label, so it stays 1; the TrainJob's counts the nodes."""
    kind = policy(plan)
    if kind == PLAIN:
        return {"numNodes": num_nodes(plan)}
    if kind == TORCH:
        return {"numNodes": num_nodes(plan), "torch": {}}
    mpi = {
        "numProcPerNode": processes_per_node(plan),
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": SSH_MOUNT,
        "runLauncherAsNode": launcher_is_node(plan),
    }
    return {"numNodes": 1, "mpi": mpi}


def _pod_group_policy(plan: Plan) -> dict[str, Any]:
    if plan.admission == defaults.KUEUE:
        return {}
    return {SCHEDULER: without_empty({"networkTopology": topology(plan)})}


def _template_metadata(plan: Plan) -> dict[str, Any]:
    """The queue of the PodGroup that Trainer makes."""
    return {} if plan.admission == defaults.KUEUE else {"annotations": {QUEUE_ANNOTATION: plan.queue.name}}


def _jobset_spec(plan: Plan) -> dict[str, Any]:
    """Paused roles are left out: the controller counts at least one pod for every replicated job. No `dependsOn` keeps the launcher back
    until the nodes are ready: the gang is all pods, and it would wait for a launcher that waits for it. The launch script waits instead."""
    present = tuple(role for role in plan.roles if role.replicas > 0)
    # a job without any pod is told elsewhere
    spec = replicated_jobs_spec(dataclasses.replace(plan, roles=present if present else plan.roles), operator_of(plan))
    labelled = LAUNCHER if policy(plan) == MPI else _counted(plan).name
    return {**spec, "replicatedJobs": [_labelled(plan, job, labelled) for job in spec["replicatedJobs"]]}


def _counted(plan: Plan) -> Group:
    """The pods that the TrainJob speaks of: those of `node`, or its first where each replica has a template of its own."""
    return next(plan.ranked[0].groups())


def _labelled(plan: Plan, job: dict[str, Any], labelled: str) -> dict[str, Any]:
    if job["name"] != labelled:
        return job
    template = {"metadata": {"labels": {ANCESTOR_LABEL: TRAINER}}, **job["template"]}
    if policy(plan) == TORCH:
        template["spec"] = _with_rendezvous(plan, template["spec"])
    return {**job, "template": template}


def rendezvous_words() -> list[str]:
    """The plan's rendezvous in Trainer's words, before a command; the user's own, which follow there, win."""
    return ["env", *(f"{name}=$({ours})" for name, ours in RENDEZVOUS.items())]


def _with_rendezvous(plan: Plan, spec: dict[str, Any]) -> dict[str, Any]:
    """The Job whose nodes see the plan's rendezvous."""
    if plan.overrides and not intact(spec["template"]):
        return spec
    pod = spec["template"]["spec"]
    containers = [
        {**container, "command": [*rendezvous_words(), *container["command"]]}
        if container["name"] == NODE and "command" in container
        else container
        for container in pod["containers"]
    ]
    return {**spec, "template": {**spec["template"], "spec": {**pod, "containers": containers}}}
