"""Notes on roles: what happens to their pods that may surprise, and what to write if that is not wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.plan.model import Plan, RolePlan
from trainform.plan.notes import overlap
from trainform.plan.restart import restart_words, times
from trainform.plan.world import processes_per_node
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import amount

MIN_AVAILABLE = "roles.*.min_available"
_PORTS = "network.ports"


def role_notes(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[str]:
    """A sentence for each."""
    yield from _shared_memory(plan)
    yield from _restarts_of_replicas(experiment, plan)
    yield from _node_each(experiment, plan, backend)
    yield from _starts_short(experiment, plan)
    yield from _processes_without_accelerators(experiment, plan)
    yield from _extras_in_the_gang(experiment, plan, backend)


def _shared_memory(plan: Plan) -> Iterator[str]:
    """A note on roles without shared memory of their own, and on those that may be given more than their memory."""
    without = [role.name for role in plan.roles if role.shared_memory is None and role.replicas]
    if without:
        yield (
            f"{_named(without)}: /dev/shm has the container runtime's 64 MB, and PyTorch's data loaders with workers fail when it is full; write "
            "`shared_memory` with a size"
        )
    for role in plan.roles:
        memory = role.resources.get("memory", "0")  # to Kubernetes a limit of 0 means no limit
        if role.shared_memory is not None and 0 < amount(memory) < amount(role.shared_memory):
            yield (
                f"role {role.name}: a pod that fills its shared_memory of {role.shared_memory} is killed, since its memory is {memory}; write "
                f"`roles.{role.name}.shared_memory: {memory}` or less"
            )


def _restarts_of_replicas(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """A note on limits of restarts that count for each replica, since it has a template of its own."""
    for role in plan.roles:
        number = times(restart_words(experiment, role.name)) if role.per_replica else None
        if number is not None:
            yield (
                f"role {role.name}: with `network.ports: per-replica`, `restart: {number} times` counts for each replica and not over the role; write "
                "`network.ports: shared` to count over the role"
            )


def _node_each(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[str]:
    """A note on a role whose pods need a node each, since all of them declare the same port of the node. Where the operator cannot give them other
    ports, its own note on `network.host` says so."""
    first = plan.ranked[0]
    planned = any(port.host for role in plan.roles for ports in role.ports for port in ports)
    able = _PORTS not in backend.FIELDS or not backend.FIELDS[_PORTS].is_refusal
    if able and planned and experiment.network.ports == "shared" and first.replicas > 1:
        yield (
            f"role {first.name}: on the host network each of its {first.replicas} pods declares the same port for the rendezvous, so each needs a node of "
            "its own; write `network.ports: per-replica` to let several run on one node"
        )


def _starts_short(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Notes on a part of a static world that may start by itself. Other launchers than a command wait for all pods, and `rules` refuse it."""
    for role in plan.roles if experiment.launcher.kind == "command" else ():
        if role.rank_offset is not None and role.min_available < role.replicas:
            yield (
                f"role {role.name}: the job starts with {role.min_available} of its {role.replicas} pods, and WORLD_SIZE counts all: a command that "
                f"waits for the others holds its accelerators meanwhile; leave `roles.{role.name}.min_available` out to start all together"
            )


def _processes_without_accelerators(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Notes on ranked roles with more processes on a pod than accelerators. They are no problems: a process may compute without one, or share it."""
    launcher = experiment.launcher
    if launcher.script is None and launcher.mpi is None:
        return  # how many processes there are is the program's own matter
    counts = {role.name: 0 if role.accelerators is None else role.accelerators[1] for role in plan.ranked}
    most = max(counts, key=lambda name: counts[name])
    for role in plan.roles:
        count, processes = counts.get(role.name), _processes(experiment, role)
        if count is None or processes <= count:
            continue
        if count and role.accelerators is not None:
            is_own = processes != processes_per_node(launcher, experiment.roles[role.name])
            field = "NPROC_PER_NODE" if is_own else f"launcher.{launcher.kind}.processes_per_node"
            yield (
                f"role {role.name}: the {processes} processes on each pod share {count} {role.accelerators[0]}; write `{field}: {count}` for one each"
            )
        elif counts[most] and not any("/" in name for name in experiment.roles[role.name].resources):
            apart = (
                f", or `ranked: false` with `launcher.{launcher.kind}.role: {role.name}` to keep it out of the training"
            )
            apart = apart if role.name == plan.launches else ""
            number = "a process runs" if processes == 1 else f"{processes} processes run"
            yield (
                f"role {role.name}: {number} on each pod without an accelerator, and those of the role {most} have one; write "
                f"`roles.{role.name}.accelerators`{apart}"
            )


def _processes(experiment: Experiment, role: RolePlan) -> int:
    """The processes on each pod of the role. Over SSH the hostfile has the number; otherwise a variable, which may be the user's."""
    if experiment.launcher.over_ssh is None:
        given = next((variable.value for variable in role.env if variable.name == "NPROC_PER_NODE"), None)
        if isinstance(given, str) and given.isascii() and given.isdecimal():
            return int(given)
    return processes_per_node(experiment.launcher, experiment.roles[role.name])


def unseen_failures(plan: Plan, heeded: Collection[str] = ()) -> Iterator[str]:
    """Notes on extras that may write what the training reads, such as a download: nothing waits for them, and nobody sees them fail. heeded: the roles
    whose failures have a consequence for the rendered job."""
    launched = [mount for role in plan.roles if role.launched for mount in role.mounts]
    for role in plan.roles:
        writes = any(overlap(mount, other) for mount in role.mounts if not mount.read_only for other in launched)
        if writes and role.replicas and not role.launched and role.name not in heeded:
            yield (
                f"role {role.name}: it starts together with the training, which neither waits for its end nor ends by its failure; make it a step of "
                "`prepare` if the training reads what it writes"
            )


def _extras_in_the_gang(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[str]:
    """Notes on extras for whose pods the training waits, since the user has not said otherwise. They are in the gang as with every operator by itself,
    and with Kueue and Trainer they always are: a job means the same everywhere."""
    always = plan.admission == defaults.KUEUE or MIN_AVAILABLE in backend.LACKS
    for role in plan.roles:
        if role.ranked or role.name == plan.launches or role.replicas == 0:
            continue
        if experiment.roles[role.name].min_available is None:
            pods = "its pod" if role.replicas == 1 else f"its {role.replicas} pods"
            alone = f"`roles.{role.name}.min_available: 0`"
            fix = "make it an experiment of its own" if always else f"write {alone}"
            yield (
                f"role {role.name}: it is in the gang, so the training starts only when there is room for {pods} too; {fix} to start without it"
            )


def _named(roles: list[str]) -> str:
    """One role, or several."""
    *first, last = roles
    return f"roles {', '.join(first)} and {last}" if first else f"role {last}"
