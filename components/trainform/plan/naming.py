"""What each operator calls pods and groups of pods, and how peers call them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from trainform.plan.model import Agent, Naming
from trainform.plan.world import first_ranked, launching_role, task_type
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

# Pods by their own names, behind a headless Service of ours.
_BY_TASK = Naming(pod="{job}-{group}-{index}", address="{pod}.{service}", own_service=True, ends_by_number=True)
# Pods of an Indexed Job have a random end; peers call them by hostname (JobSet's `replicated job`, its one job, the pod's index).
_BY_COMPLETION = Naming(pod="{job}-{group}-0-{index}", address="{pod}.{service}", own_service=True)
# The operator makes a headless Service for each pod, called like the pod.
_BY_SERVICE = Naming(pod="{job}-{group}-{index}", address="{pod}", own_service=False)
# Its MPIJob has no Services: the launcher reaches the workers by `kubectl exec`, with a list of pods that the operator writes.
KUBEXEC = Agent("/etc/mpi/kubexec.sh", "/etc/mpi/hostfile", client="/opt/kube/kubectl", delivery="kubectl-delivery")
_BY_EXEC = dataclasses.replace(_BY_SERVICE, single=("launcher",), agent=KUBEXEC)

NAMINGS: dict[str, Naming] = {
    "volcano": _BY_TASK,
    "kubeflow": _BY_SERVICE,
    "trainer": _BY_COMPLETION,
    "kubedl": _BY_SERVICE,
    "jobset": _BY_COMPLETION,
}


# Where one of an operator's kinds of job has another way than the rest of them, by launcher.
_BY_LAUNCHER: dict[tuple[str, str], Naming] = {("kubeflow", "mpi"): _BY_EXEC}
# Operators that choose ports themselves on the host network.
_DRAWING = frozenset(["kubedl"])


def naming_of(experiment: Experiment, environment: Environment, job: str) -> Naming:
    """The operator's, for this job object. A runtime that somebody else owns leaves the subdomain to Trainer, which takes the job's name."""
    if experiment.runtime is not None:
        return Naming(pod=_BY_COMPLETION.pod, address=f"{{pod}}.{job}", own_service=False)
    backend = chosen_backend(experiment, environment)
    naming = _BY_LAUNCHER.get((backend, experiment.launcher.kind), NAMINGS[backend])
    return dataclasses.replace(naming, draws_ports=experiment.network.host and backend in _DRAWING)


def chosen_backend(experiment: Experiment, environment: Environment) -> str:
    """The experiment's operator, else the environment's."""
    return experiment.backend if experiment.backend is not None else environment.backend


def groups_of(experiment: Experiment, backend: str) -> dict[str, str]:
    """The operator's word for each role: fixed ones where the operator has such, else the role's name."""
    words = _GROUPS.get(backend)
    return {name: name for name in experiment.roles} if words is None else words(experiment)


def _replica_types(experiment: Experiment) -> dict[str, str]:
    """Of PyTorchJob, TFJob and MPIJob, in small letters as pods are called. A role that the job has no type for keeps its name, and is
    refused."""
    if experiment.launcher.tensorflow is not None:
        kinds = {name: task_type(experiment, name) for name in experiment.roles}
        return {name: name if kind is None else kind for name, kind in kinds.items()}
    launching = launching_role(experiment)
    master = _master(experiment) if launching is None else launching
    word = "launcher" if experiment.launcher.mpi is not None else "master"
    return {
        name: word if name == master else "worker" if role.ranked else name for name, role in experiment.roles.items()
    }


def _master(experiment: Experiment) -> str | None:
    """A PyTorchJob ends with its master: where no pod launches the others, a first role of one pod."""
    first = first_ranked(experiment)
    return first if experiment.roles[first].replicas == 1 and not experiment.elastic else None


def _replicated_jobs(experiment: Experiment) -> dict[str, str]:
    """Of Trainer: `launcher` of MPI, and `node`, the ranked role that its policies count. Every other role keeps its name."""
    launching = launching_role(experiment) if experiment.launcher.mpi is not None else None
    node = next((name for name, role in experiment.roles.items() if role.ranked and name != launching), None)
    words = {launching: "launcher", node: "node"}
    return {name: words.get(name, name) for name in experiment.roles}


_GROUPS: dict[str, Callable[[Experiment], dict[str, str]]] = {
    "kubeflow": _replica_types,
    "kubedl": _replica_types,
    "trainer": _replicated_jobs,
}
