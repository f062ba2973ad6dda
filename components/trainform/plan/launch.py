"""The launch scripts: short and readable, one per way of starting, the same for all roles that start so.

Static values are in the pod's environment, the user's words in the container's arguments, where a preview shows each change by
itself. The script adds what a pod template cannot hold (the rank) and names each variable that the launcher reads, so that a
value of the user's wins here too.
"""

from __future__ import annotations

from trainform.catalog import defaults
from trainform.plan.model import World
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Accelerate, Launcher, Torchrun
from trainform.spec.roles import Role

COMMAND_SCRIPT = "command.sh"

_HEADER = """\
#!/bin/sh
# Rendered by trainform. Each pod of a role has the same template; what differs is its index, which Kubernetes hands in as
# TRAINFORM_REPLICA_INDEX. A value that is already set is kept.
set -eu
"""
# `:?` because to a shell's arithmetic a variable that is not set is 0, and every pod would be rank 0
_RANK = 'export RANK="${RANK:-$((${TRAINFORM_RANK_OFFSET:?} + ${TRAINFORM_REPLICA_INDEX:?}))}"\n'

_STATIC_TORCHRUN = (
    "exec torchrun",
    '--nnodes "$WORLD_SIZE"',
    '--nproc-per-node "$NPROC_PER_NODE"',
    '--node-rank "$RANK"',
    '--master-addr "$MASTER_ADDR"',
    '--master-port "$MASTER_PORT"',
    '--max-restarts "$MAX_RESTARTS"',
)
_ELASTIC_TORCHRUN = (
    "exec torchrun",
    '--nnodes "$NNODES"',
    '--nproc-per-node "$NPROC_PER_NODE"',
    "--rdzv-backend c10d",
    '--rdzv-id "$RDZV_ID"',
    '--rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT"',
    '--max-restarts "$MAX_RESTARTS"',
)
_ACCELERATE = (
    "exec accelerate launch",
    '--num_processes "$NUM_PROCESSES"',
    '--num_machines "$WORLD_SIZE"',
    '--machine_rank "$RANK"',
    '--rdzv_backend "$RDZV_BACKEND"',
    '--main_process_ip "$MASTER_ADDR"',
    '--main_process_port "$MASTER_PORT"',
)
# accelerate turns this on by itself only where a node has several accelerators; with one on each of several nodes every node would
# train alone. For a single process it refuses it. (huggingface/accelerate at 00785cd, `commands/launch.py`)
_MULTI_GPU = "--multi_gpu"
_ACCELERATE_MODES = frozenset(
    f"__{mode}" for mode in ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "config_file")
)
_STATIC: dict[type, tuple[str, ...]] = {Torchrun: _STATIC_TORCHRUN, Accelerate: _ACCELERATE}


def launch_scripts(experiment: Experiment, world: World) -> dict[str, str]:
    """The scripts that ranked roles start with, by file name."""
    scripts = {}
    for role in experiment.roles.values():
        if role.ranked:
            name = script_name(role)
            scripts[name] = _script(experiment.launcher, name, world)
    return scripts


def chooses_mode(launcher: Accelerate) -> bool:
    """Whether the user's own options say how accelerate distributes; it takes one of them only."""
    options = {word.partition("=")[0].replace("-", "_") for word in launcher.launcher_args if word.startswith("--")}
    return not options.isdisjoint(_ACCELERATE_MODES)


def script_name(role: Role) -> str:
    """Which script a ranked role starts with: a role with a command of its own gets its rank, but not the launcher."""
    return defaults.LAUNCH_SCRIPT if role.command is None else COMMAND_SCRIPT


def container_command(role: Role) -> tuple[str, ...]:
    """What the container starts: the script for ranked roles, the role's own command for the others."""
    if role.ranked:
        return ("/bin/sh", f"{defaults.LAUNCH_MOUNT}/{script_name(role)}")
    return () if role.command is None else tuple(role.command)


def container_args(launcher: Launcher, role: Role) -> tuple[str, ...]:
    """The user's words, passed on to what the script starts."""
    if not role.ranked:
        return ()
    if role.command is not None:
        return tuple(role.command)
    if launcher.script is None:
        return () if launcher.command is None else tuple(launcher.command)
    return (*launcher.script.launcher_args, launcher.script.script, *launcher.script.args)


def _script(launcher: Launcher, name: str, world: World) -> str:
    # an elastic world numbers its own ranks
    rank = "" if launcher.elastic is not None else _RANK
    if launcher.script is None or name == COMMAND_SCRIPT:
        return _HEADER + rank + 'exec "$@"\n'
    words = _ELASTIC_TORCHRUN if launcher.elastic is not None else _STATIC[type(launcher.script)]
    if launcher.accelerate is not None and world.processes > 1 and not chooses_mode(launcher.accelerate):
        words = (*words, _MULTI_GPU)
    return _HEADER + rank + " \\\n  ".join([*words, '"$@"']) + "\n"
