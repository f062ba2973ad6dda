"""The environment of a role: what the launcher needs, then what the user wrote, which wins. Each value knows where it is from."""

from __future__ import annotations

from trainform.plan.model import EnvVar, Rendezvous, World
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Launcher
from trainform.spec.roles import Role

RESERVED_PREFIX = "TRAINFORM_"
RANK_OFFSET = "TRAINFORM_RANK_OFFSET"
REPLICA_INDEX = "TRAINFORM_REPLICA_INDEX"  # from the downward API; which label it is, the backend knows


def processes_per_node(launcher: Launcher, role: Role) -> int:
    """Training processes on each pod of the role: as said, else one per accelerator, else one."""
    if launcher.script is not None and launcher.script.processes_per_node is not None:
        return launcher.script.processes_per_node
    return max(1, sum(role.accelerators.values()))


def role_env(
    experiment: Experiment, role_name: str, rank_offset: int, world: World, rendezvous: Rendezvous
) -> tuple[EnvVar, ...]:
    """Every variable once, in the order launcher, experiment, role; a later value takes the place of an earlier one."""
    role = experiment.roles[role_name]
    computed = _launcher_env(experiment, role, rank_offset, world, rendezvous) if role.ranked else {}
    merged = {name: EnvVar(name, value, _origin(experiment.launcher)) for name, value in computed.items()}
    merged |= {name: EnvVar(name, value, f"env.{name}") for name, value in experiment.env.items()}
    merged |= {name: EnvVar(name, value, f"roles.{role_name}.env.{name}") for name, value in role.env.items()}
    return tuple(merged.values())


def _origin(launcher: Launcher) -> str:
    return next(f"launcher.{name}" for name in type(launcher).model_fields if getattr(launcher, name) is not None)


def _launcher_env(
    experiment: Experiment, role: Role, rank_offset: int, world: World, rendezvous: Rendezvous
) -> dict[str, str]:
    launcher = experiment.launcher
    env = {"MASTER_ADDR": rendezvous.address, "MASTER_PORT": str(rendezvous.port)}
    if world.bounds is None:
        env |= {"WORLD_SIZE": str(world.nodes), "NUM_PROCESSES": str(world.processes), RANK_OFFSET: str(rank_offset)}
    else:
        # nothing that follows the present number of replicas: an elastic job scales without a new template
        env |= {"NNODES": f"{world.bounds[0]}:{world.bounds[1]}", "RDZV_ID": rendezvous.address.split(".")[0]}
    env["NPROC_PER_NODE"] = str(processes_per_node(launcher, role))
    if launcher.torchrun is not None:
        env["MAX_RESTARTS"] = str(launcher.torchrun.max_restarts)
    if launcher.accelerate is not None:
        env["RDZV_BACKEND"] = launcher.accelerate.rdzv_backend
    return env
