"""Names of the pods and groups of jobs that consist of replica specs."""

from __future__ import annotations

from trainform.plan.model import Naming
from trainform.plan.world import first_ranked, launching_role, task_type
from trainform.spec.experiment import Experiment

# The operator makes a headless Service for each pod, with the pod's name.
NAMING = Naming(pod="{job}-{group}-{index}", address="{pod}", own_service=False)


def replica_groups(experiment: Experiment) -> dict[str, str]:
    """The replica type of each role, in lower case as in names of pods. A role for which the job has no type keeps its
    name, and is refused."""
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
    """The role that is the Master of a PyTorchJob, whose success ends the job: a first ranked role of one pod in a
    static job; otherwise None."""
    first = first_ranked(experiment)
    return first if experiment.roles[first].replicas == 1 and not experiment.elastic else None
