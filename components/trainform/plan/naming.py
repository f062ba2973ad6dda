"""What each operator calls pods and groups of pods, and how peers call them."""

from __future__ import annotations

from collections.abc import Callable

from trainform.plan.model import Naming
from trainform.plan.world import first_ranked, launching_role, task_type
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

# Pods by their own names, behind a headless Service of ours.
_BY_TASK = Naming(pod="{job}-{group}-{index}", address="{pod}.{service}", own_service=True)
# Pods of an Indexed Job have a random end; peers call them by hostname (JobSet's `replicated job`, its one job, the pod's index).
_BY_COMPLETION = Naming(pod="{job}-{group}-0-{index}", address="{pod}.{service}", own_service=True)
# The operator makes a headless Service for each pod, called like the pod.
_BY_SERVICE = Naming(pod="{job}-{group}-{index}", address="{pod}", own_service=False)

NAMINGS: dict[str, Naming] = {
    "volcano": _BY_TASK,
    "kubeflow": _BY_SERVICE,
    "trainer": _BY_COMPLETION,
    "kubedl": _BY_SERVICE,
    "jobset": _BY_COMPLETION,
}


def chosen_backend(experiment: Experiment, environment: Environment) -> str:
    """The experiment's operator, else the environment's."""
    return experiment.backend if experiment.backend is not None else environment.backend


def group_of(experiment: Experiment, backend: str, role: str) -> str:
    """The operator's word for the role: fixed ones where the operator has such, else the role's name."""
    words = _GROUPS.get(backend)
    return role if words is None else words(experiment, role)


def _replica_type(experiment: Experiment, role: str) -> str:
    """Of PyTorchJob, TFJob and MPIJob, in small letters as pods are called. A role that the job has no type for keeps its name, and is refused."""
    if not experiment.roles[role].ranked and role != launching_role(experiment):
        return role
    if experiment.launcher.tensorflow is not None:
        kind = task_type(experiment, role)
        return role if kind is None else kind
    if experiment.launcher.mpi is not None:
        return "launcher" if role == launching_role(experiment) else "worker"
    alone = role == first_ranked(experiment) and experiment.roles[role].replicas == 1 and not experiment.elastic
    return "master" if alone else "worker"


def _replicated_job(experiment: Experiment, role: str) -> str:
    """Of Trainer: the launcher of MPI, and the nodes."""
    if not experiment.roles[role].ranked and role != launching_role(experiment):
        return role
    return "launcher" if experiment.launcher.mpi is not None and role == launching_role(experiment) else "node"


_GROUPS: dict[str, Callable[[Experiment, str], str]] = {
    "kubeflow": _replica_type,
    "kubedl": _replica_type,
    "trainer": _replicated_job,
}
