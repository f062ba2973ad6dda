"""Notes on processes that have no accelerator of their own, and on those of an MPI that does not know the hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainform.plan.model import RolePlan
from trainform.plan.world import processes_per_node
from trainform.spec.experiment import Experiment

_OF_HYDRA = re.compile(r"(I_MPI|HYDRA|MPICH|MPIR_CVAR|MV2)_")
_HYDRA_HOSTS = ("HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE")


def hydra_notes(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """A note on variables of MPICH or Intel MPI, whose mpirun (Hydra) knows nothing of what the plan says to Open MPI's. Where it is to start processes
    in other pods, the launch script stops it."""
    if experiment.launcher.mpi is None:
        return
    names = {variable.name for role in roles for variable in role.env if role.launched}
    found = sorted(filter(_OF_HYDRA.match, names))
    if found and not names.intersection(_HYDRA_HOSTS):
        yield (
            f"launcher.mpi is for Open MPI 4 or 5, and {', '.join(found)} {'is' if len(found) == 1 else 'are'} of MPICH or Intel MPI: their mpirun does not "
            f"know the job's hosts, unless {' or '.join(_HYDRA_HOSTS)} names a file with them"
        )


def process_notes(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on ranked roles with more processes on a pod than accelerators. They are no problems: a process may compute without one, or share it."""
    launcher = experiment.launcher
    if launcher.script is None and launcher.mpi is None:
        return  # how many processes there are is the program's own matter
    counts = {role.name: 0 if role.accelerators is None else role.accelerators[1] for role in roles if role.ranked}
    most = max(counts, key=lambda name: counts[name])
    for role in roles:
        count, processes = counts.get(role.name), _processes(experiment, role)
        if count is None or processes <= count:
            continue
        if count and role.accelerators is not None:
            fix = f"write `processes_per_node: {count}` for one each"
            yield f"role {role.name}: {processes} processes on each pod share {count} {role.accelerators[0]}; {fix}"
        elif counts[most] and not any("/" in name for name in experiment.roles[role.name].resources):
            apart = ", or make it `ranked: false`" if launcher.over_ssh is not None else ""
            number = "a process" if processes == 1 else f"{processes} processes"
            yield f"role {role.name}: {number} on each pod, and no accelerators, which the role {most} has; give it some{apart}"


def _processes(experiment: Experiment, role: RolePlan) -> int:
    """The processes on each pod of the role. Over SSH the hostfile has the number; otherwise a variable, which may be the user's."""
    if experiment.launcher.over_ssh is None:
        given = next((variable.value for variable in role.env if variable.name == "NPROC_PER_NODE"), None)
        if isinstance(given, str) and given.isascii() and given.isdecimal():
            return int(given)
    return processes_per_node(experiment.launcher, experiment.roles[role.name])
