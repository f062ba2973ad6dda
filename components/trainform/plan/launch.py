"""The launch files: short and readable, one script per way of starting, the same for all roles that start so.

Static values are in the pod's environment, the user's words in the container's arguments, where a preview shows each change by
itself. A script adds what a pod template cannot hold (the rank) and names each variable that the launcher reads, so that a
value of the user's wins here too.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from trainform.catalog import defaults
from trainform.plan.checkout import CHECKOUT, CHECKOUT_SCRIPT
from trainform.plan.layout import Layout
from trainform.plan.ports import TENSORFLOW
from trainform.plan.ssh_scripts import (
    SERVE,
    SESSION_SCRIPT,
    SSHD_CONFIG,
    SSHD_SCRIPT,
    START_SSHD,
    WAIT,
    WAIT_FOR_ALL_NAMES,
    WAIT_FOR_NAMES,
    WAIT_FOR_SSH,
    WAIT_SCRIPT,
    ssh_files,
)
from trainform.plan.world import in_world, task_type
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Accelerate, Launcher

COMMAND_SCRIPT, SERVE_SCRIPT, STAY_SCRIPT = "command.sh", "serve.sh", "stay.sh"
TF_CONFIG = "tf_config.json"

_HEADER = """\
#!/bin/sh
# Rendered by trainform. Each pod of a role has the same template; what differs is its index, which Kubernetes hands in as
# TRAINFORM_REPLICA_INDEX. A value that is already set is kept.
set -eu
"""
# `:?` because to a shell's arithmetic a variable that is not set is 0, and every pod would be rank 0
_RANK = 'export RANK="${RANK-$((${TRAINFORM_RANK_OFFSET:?} + ${TRAINFORM_REPLICA_INDEX:?}))}"\n'
# behind a Service of its own rank 0 opens another port than its peers call
_RANK_0 = """\
if [ "$RANK" = 0 ] && [ -n "${TRAINFORM_OWN_ADDR:-}" ]; then
  export MASTER_ADDR="$TRAINFORM_OWN_ADDR" MASTER_PORT="${TRAINFORM_RENDEZVOUS_PORT:?}"
fi
"""
# a variable of its own, since `export` would hide that the words in `$()` failed; the own entry has the quotes of JSON around it
_TF_CONFIG = f"""\
config=$(sed -e "s/@TYPE@/${{TRAINFORM_TASK_TYPE:?}}/" -e "s/@INDEX@/${{TRAINFORM_REPLICA_INDEX:?}}/" {defaults.LAUNCH_MOUNT}/{TF_CONFIG})
"""
# behind a Service of its own a replica sees the port that it opens itself, and its peers' constant ones
_TF_CONFIG_BEHIND = """\
own="$TRAINFORM_SERVICE-$TRAINFORM_REPLICA_INDEX"
config=$(printf '%s' "$config" | sed "s/\\"$own:[0-9]*\\"/\\"$own:${TRAINFORM_TENSORFLOW_PORT:-}\\"/")
"""
_EXPORT_TF_CONFIG = 'export TF_CONFIG="${TF_CONFIG-$config}"\n'
# a shell ends at once when it is told to, which `sleep` as process 1 does not
_IDLE = """\
while :; do
  sleep 3600 &
  wait $!
done
"""
_FOR_AGENT = f"""\
# Processes are started here by the operator's own agent; this one keeps the container up.
trap 'exit 143' TERM
{_IDLE}"""
_STAY = f"""\
#!/bin/sh
# Runs a command. Where it succeeds, the container stays up until the pod is removed: the operator ends the job by the
# number of pods that have succeeded, and this one is none of those that are meant.
set -u
main= told=
forward() {{ told=yes; [ -z "$main" ] || kill "$main" 2>/dev/null || :; }}
trap forward TERM INT QUIT
"$@" &
main=$!
[ -z "$told" ] || forward
# a signal ends `wait`, and not what it waits for
code=0
wait "$main" || code=$?
while kill -0 "$main" 2>/dev/null; do
  code=0
  wait "$main" || code=$?
done
[ "$code" -eq 0 ] || exit "$code"
trap 'exit 143' TERM INT QUIT
[ -z "$told" ] || exit 143
echo "trainform: done; waiting for the end of the job" >&2
{_IDLE}"""
_HOSTFILE = f"{defaults.LAUNCH_MOUNT}/{defaults.HOSTFILE}"

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
_DEEPSPEED = (
    "exec deepspeed",
    f"--hostfile {_HOSTFILE}",
    '--master_addr "$MASTER_ADDR"',
    '--master_port "$MASTER_PORT"',
)
_MPIRUN = (
    "exec mpirun",
    '-np "$NUM_PROCESSES"',
)  # the hostfile is in its environment, where a value of the user's wins
# accelerate turns this on by itself only where a node has several accelerators; with one on each of several nodes every node would
# train alone. For a single process it refuses it. (huggingface/accelerate at 00785cd, `commands/launch.py`)
_MULTI_GPU = "--multi_gpu"
_ACCELERATE_MODES = frozenset(
    f"__{mode}" for mode in ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "config_file")
)
# DeepSpeed starts the processes of a single host by itself, without SSH, and from a pod that computes nothing that would be the wrong one
_FORCE_MULTI = "--force_multi"


_RANKED = {
    "RANK": "offset + index; rank of the pod",
    "MASTER_ADDR, MASTER_PORT": "in rank 0 behind a Service of its own: what it opens itself",
}
SCRIPT_VARIABLES: dict[str, dict[str, str]] = {
    "torchrun": _RANKED
    | {"RANK": "static: offset + index, as --node-rank; elastic: not set, torchrun numbers the pods"},
    "accelerate": _RANKED | {"RANK": "offset + index, as --machine_rank"},
    "deepspeed": {},
    "mpi": {},
    "tensorflow": {
        "TF_CONFIG": "cluster of all chief, worker and ps replicas, and the own task; not for a single replica. Behind Services the own entry "
        "has the port that the replica opens, the others their Services' constant ones"
    },
    "command": _RANKED,
}
"""What the scripts add to the environment, by launcher: name and meaning."""

FILES = {
    defaults.LAUNCH_SCRIPT: "starts the launcher",
    COMMAND_SCRIPT: "starts a ranked role's own command, with its rank",
    SERVE_SCRIPT: "deepspeed, mpi: serves SSH to the pod that launches, or waits for the operator's own agent",
    WAIT_SCRIPT: "waits for peers: their names, and over SSH their sshd; then says who is missing and why",
    defaults.HOSTFILE: "`<host> slots=<processes>` for every node in order of rank: deepspeed, mpi, tensorflow, and wherever there is SSH",
    TF_CONFIG: "tensorflow: the cluster",
    SSHD_SCRIPT: "starts sshd, and keeps the container's variables for its sessions",
    SSHD_CONFIG: "sshd's configuration",
    SESSION_SCRIPT: "what a session over SSH runs: it sees the container's variables",
    CHECKOUT_SCRIPT: "`prepare` with git: checks out the commit",
    STAY_SCRIPT: "volcano, `ports: per-replica`: keeps a pod that has succeeded, and does not end the job, until the job ends",
}
"""What the launch volume may hold, and what for."""


def launch_files(layout: Layout) -> dict[str, str]:
    """What ranked roles, and the one that launches, find in their launch volume, by file name."""
    experiment = layout.experiment
    scripts = dict.fromkeys(script_name(layout, name) for name in experiment.roles if name in layout.launched)
    files = {script: _SCRIPTS[script](layout) for script in scripts}
    if any(step.git is not None for step in experiment.prepare):
        files[CHECKOUT_SCRIPT] = CHECKOUT
    if layout.ssh_roles:
        files |= ssh_files(ssh_folder(experiment))
    if _waits(layout):
        files[WAIT_SCRIPT] = WAIT
    if needs_hosts(layout):
        files[defaults.HOSTFILE] = "".join(f"{host.address} slots={host.slots}\n" for host in layout.hosts())
    if layout.tf_config:
        files[TF_CONFIG] = _tf_config(layout)
    if layout.ends_by_number:
        files[STAY_SCRIPT] = _STAY
    return files


def needs_hosts(layout: Layout) -> bool:
    """Whether the pods get a list of all hosts: a static world with SSH, or TensorFlow's."""
    experiment = layout.experiment
    if experiment.elastic:
        return False
    return bool(layout.ssh_roles) or (experiment.launcher.tensorflow is not None and layout.world.nodes > 1)


def ssh_folder(experiment: Experiment) -> str:
    """Where SSH looks for its files: `~/.ssh` of the user that the pods run as."""
    return f"{defaults.HOME if experiment.run_as is None else experiment.run_as.home.rstrip('/')}/.ssh"


def chooses_mode(launcher: Accelerate) -> bool:
    """Whether the user's own options say how accelerate distributes; it takes one of them only."""
    options = {word.partition("=")[0].replace("-", "_") for word in launcher.launcher_args if word.startswith("--")}
    return not options.isdisjoint(_ACCELERATE_MODES)


def script_name(layout: Layout, name: str) -> str:
    """Which script a launched role starts with: where one pod launches over SSH, the others serve; a role with a command of its own
    gets its rank, but not the launcher."""
    if layout.launching is not None:
        return defaults.LAUNCH_SCRIPT if name == layout.launching else SERVE_SCRIPT
    return defaults.LAUNCH_SCRIPT if layout.experiment.roles[name].command is None else COMMAND_SCRIPT


def container_command(layout: Layout, name: str) -> tuple[str, ...]:
    """What the container starts: the script for launched roles, the role's own command for the others."""
    stay = ("/bin/sh", f"{defaults.LAUNCH_MOUNT}/{STAY_SCRIPT}") if layout.stays(name) else ()
    if name in layout.launched:
        return (*stay, "/bin/sh", f"{defaults.LAUNCH_MOUNT}/{script_name(layout, name)}")
    command = layout.experiment.roles[name].command
    return () if command is None else (*stay, *command)


def container_args(layout: Layout, name: str) -> tuple[str, ...]:
    """The user's words, passed on to what the script starts."""
    launcher, role = layout.experiment.launcher, layout.experiment.roles[name]
    if layout.launching is not None:
        return _words(launcher) if name == layout.launching else ()
    if not role.ranked:
        return ()
    return _words(launcher) if role.command is None else tuple(role.command)


def _words(launcher: Launcher) -> tuple[str, ...]:
    if launcher.script is not None:
        return (*launcher.script.launcher_args, launcher.script.script, *launcher.script.args)
    if launcher.mpi is not None:
        return (*launcher.mpi.launcher_args, *launcher.mpi.command)
    command = launcher.command if launcher.tensorflow is None else launcher.tensorflow.command
    return () if command is None else tuple(command)


def _launch_script(layout: Layout) -> str:
    words = _LINES[layout.experiment.launcher.kind](layout)
    between = " " if len(words) == 1 else " \\\n  "
    return _start(layout) + _waits(layout) + between.join([*words, '"$@"']) + "\n"


def _waits(layout: Layout) -> str:
    """What the launch script says to wait for its peers; nothing where there are none, or where the operator waits for them."""
    experiment = layout.experiment
    if experiment.launcher.over_ssh is not None:
        return WAIT_FOR_SSH if layout.ssh_roles and layout.naming.agent is None else ""
    if layout.world.nodes == 1 and not experiment.elastic:
        return ""
    return WAIT_FOR_NAMES if experiment.launcher.tensorflow is None else WAIT_FOR_ALL_NAMES


def _command_script(layout: Layout) -> str:
    return _start(layout) + 'exec "$@"\n'


def _serve_script(layout: Layout) -> str:
    return _HEADER + (SERVE if layout.naming.agent is None else _FOR_AGENT)


_SCRIPTS: dict[str, Callable[[Layout], str]] = {
    defaults.LAUNCH_SCRIPT: _launch_script,
    COMMAND_SCRIPT: _command_script,
    SERVE_SCRIPT: _serve_script,
}


def _start(layout: Layout) -> str:
    """What comes before the launcher: who this pod is, and its sshd."""
    experiment = layout.experiment
    launcher = experiment.launcher
    parts = [_HEADER]
    if launcher.tensorflow is not None:
        parts += _tf_config_parts(layout) if layout.tf_config else []
    elif launcher.over_ssh is None and launcher.elastic is None:  # an elastic world numbers its own ranks
        parts += [_RANK, _RANK_0] if layout.behind_services else [_RANK]
    return "".join(parts) + (START_SSHD if layout.ssh_roles else "")


def _tf_config_parts(layout: Layout) -> list[str]:
    return [_TF_CONFIG, *([_TF_CONFIG_BEHIND] if layout.behind_services else []), _EXPORT_TF_CONFIG]


def _torchrun(layout: Layout) -> tuple[str, ...]:
    return _STATIC_TORCHRUN if layout.experiment.launcher.elastic is None else _ELASTIC_TORCHRUN


def _accelerate(layout: Layout) -> tuple[str, ...]:
    launcher = layout.experiment.launcher.accelerate
    multi = launcher is not None and layout.world.processes > 1 and not chooses_mode(launcher)
    return (*_ACCELERATE, _MULTI_GPU) if multi else _ACCELERATE


def _deepspeed(layout: Layout) -> tuple[str, ...]:
    apart = layout.launching is not None and not layout.experiment.roles[layout.launching].ranked
    return (*_DEEPSPEED, _FORCE_MULTI) if apart else _DEEPSPEED


# The line that starts, by launcher.
_LINES: dict[str, Callable[[Layout], tuple[str, ...]]] = {
    "torchrun": _torchrun,
    "accelerate": _accelerate,
    "deepspeed": _deepspeed,
    "mpi": lambda layout: _MPIRUN,
    "tensorflow": lambda layout: ("exec",),
    "command": lambda layout: ("exec",),
}


def _tf_config(layout: Layout) -> str:
    """TF_CONFIG of every pod, but for its own task: peers by their stable addresses, the evaluator outside of the cluster."""
    experiment = layout.experiment
    cluster = {
        str(task_type(experiment, name)): [
            f"{layout.address(name, index)}:{layout.called_at(name, index, TENSORFLOW)}"
            for index in range(role.replicas)
        ]
        for name, role in experiment.roles.items()
        if in_world(experiment, name)
    }
    return (
        json.dumps({"cluster": cluster, "task": {"type": "@TYPE@", "index": 0}}).replace(
            '"index": 0', '"index": @INDEX@'
        )
        + "\n"
    )
