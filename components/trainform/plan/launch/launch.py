"""The launch files: a short, readable script for each way of starting, the same for all roles that start in this way.

Static values are in the pod's environment, and the user's words in the container's arguments, where a preview shows
each change by itself. A script adds what a pod template cannot hold (the rank) and names each variable that the
launcher reads, so that a value of the user's wins here too. The shell is in `scripts/*.sh`; this module chooses which
parts of it a job needs.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from trainform import defaults
from trainform.plan.launch.prepare import (
    CHECKOUT_SCRIPT,
    FIRST_POD_SCRIPT,
    SESSION_SCRIPT,
    SSHD_CONFIG,
    SSHD_SCRIPT,
    in_first_pod,
    ssh_files,
)
from trainform.plan.launch.scripts import script
from trainform.plan.layout import TENSORFLOW, Layout
from trainform.plan.world import in_world, task_type
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Accelerate, Launcher

PEERS_SECTION = "wait-for-peers"  # of start.sh
COMMAND_SCRIPT, SERVE_SCRIPT, WAIT_SCRIPT = "command.sh", "serve.sh", "wait.sh"
RUN_SCRIPT, STAY_SCRIPT, MESSAGE_PROGRAM = "run.sh", "stay.sh", "message.awk"
TF_CONFIG, PEERS = "tf_config.json", "peers"

_ACCELERATE_MODES = frozenset(
    f"__{mode}" for mode in ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "config_file")
)

_RANKED = {
    "RANK": "offset of the role + index",
    "MASTER_ADDR, MASTER_PORT": "in rank 0 behind a Service: what it opens itself",
}
SCRIPT_VARIABLES: dict[str, dict[str, str]] = {
    "torchrun": _RANKED | {"RANK": "offset of the role + index; elastic: not set, torchrun numbers the pods"},
    "accelerate": _RANKED,
    "deepspeed": {},
    "mpi": {},
    "tensorflow": {"TF_CONFIG": "the cluster and the replica's task; not for a single replica"},
    "jax": _RANKED
    | {"JAX_PROCESS_ID": "`RANK`", "JAX_COORDINATOR_ADDRESS": "`MASTER_ADDR:MASTER_PORT`, which JAX reads itself"},
    "command": _RANKED,
    "entrypoint": {},
}
"""The variables that the scripts add to the environment, by launcher, with their meaning."""

FILES = {
    defaults.LAUNCH_SCRIPT: "starts the launcher",
    COMMAND_SCRIPT: "starts the command of a ranked role, with its rank",
    SERVE_SCRIPT: "deepspeed, mpi: serves SSH, or waits for the operator's agent",
    RUN_SCRIPT: "process 1: runs a script, passes signals on, and writes why it failed to the pod's status",
    MESSAGE_PROGRAM: "finds in standard error why it failed",
    WAIT_SCRIPT: "waits for the names and sshd of peers, and reports which is missing and why",
    defaults.HOSTFILE: "`<host> slots=<processes>` for each node by rank: with SSH, and for tensorflow",
    PEERS: "`admission: none`: the names for which every pod waits",
    TF_CONFIG: "tensorflow: the cluster",
    SSHD_SCRIPT: "starts sshd",
    SSHD_CONFIG: "sshd's configuration",
    SESSION_SCRIPT: "gives the container's variables to sessions over SSH",
    CHECKOUT_SCRIPT: "`prepare` with git: checks out the commit",
    FIRST_POD_SCRIPT: "`prepare` with `on: first-pod`: runs the step in one pod of a role",
    STAY_SCRIPT: "instead of `run.sh` with `ports: per-replica`, where the operator counts successes: keeps other pods "
    "until the job ends",
}
"""The files that the launch volume may hold, with their purpose."""


def launch_files(layout: Layout) -> dict[str, str]:
    """Return the files in the launch volume of ranked roles and of the role that launches, by file name."""
    experiment = layout.experiment
    scripts = dict.fromkeys(script_name(layout, name) for name in experiment.roles if name in layout.scripted)
    files = {name: _launch_script(layout, name) for name in scripts}
    for first in dict.fromkeys(filter(None, (_first_process(layout, name) for name in experiment.roles))):
        files[first] = script(RUN_SCRIPT, _SECTIONS_OF_RUN[first])
        files[MESSAGE_PROGRAM] = script(MESSAGE_PROGRAM)
    if any(step.git is not None for step in experiment.prepare):
        files[CHECKOUT_SCRIPT] = script(CHECKOUT_SCRIPT)
    if any(in_first_pod(experiment, name) for name in experiment.roles):
        files[FIRST_POD_SCRIPT] = script(FIRST_POD_SCRIPT)
    if layout.ssh_roles:
        files |= ssh_files(ssh_folder(experiment))
    peers = _peers(layout) if scripts else ()
    if peers:
        files[PEERS] = "".join(f"{peer}\n" for peer in peers)
    if scripts and (peers or _waits(layout) is not None):
        files[WAIT_SCRIPT] = script(WAIT_SCRIPT, ["one-by-one" if len(peers) > 1 else "at-once"])
    if needs_hosts(layout):
        files[defaults.HOSTFILE] = "".join(f"{host.address} slots={host.slots}\n" for host in layout.hosts())
    if layout.tf_config:
        files[TF_CONFIG] = _tf_config(layout)
    return files


def needs_hosts(layout: Layout) -> bool:
    """Return True if the pods get a list of all hosts: a static world with SSH, or TensorFlow on several nodes."""
    experiment = layout.experiment
    if experiment.elastic:
        return False
    return bool(layout.ssh_roles) or (experiment.launcher.tensorflow is not None and layout.world.nodes > 1)


def ssh_folder(experiment: Experiment) -> str:
    """Return the folder in which SSH looks for its files: `~/.ssh` of the user that runs in the pods."""
    return f"{defaults.HOME if experiment.run_as is None else experiment.run_as.home.rstrip('/')}/.ssh"


def chooses_mode(launcher: Accelerate) -> bool:
    """Return True if the user's own options choose how accelerate distributes the training; it accepts only one such
    option."""
    return not _options(launcher).isdisjoint(_ACCELERATE_MODES)


def _options(launcher: Accelerate) -> set[str]:
    return {word.partition("=")[0].replace("-", "_") for word in launcher.launcher_args if word.startswith("--")}


def script_name(layout: Layout, name: str) -> str:
    """Return the name of the script that starts a launched role.

    Where one pod launches over SSH, the other pods serve. A role with a command of its own gets its rank, and not the
    launcher.
    """
    if layout.launching is not None:
        return defaults.LAUNCH_SCRIPT if name == layout.launching else SERVE_SCRIPT
    return defaults.LAUNCH_SCRIPT if layout.experiment.roles[name].command is None else COMMAND_SCRIPT


def container_command(layout: Layout, name: str) -> tuple[str, ...]:
    """Return the container's command: the scripts for launched roles, the role's own command for the others, () for the
    image's own ENTRYPOINT."""
    runs = _first_process(layout, name)
    first = () if runs is None else ("/bin/sh", f"{defaults.LAUNCH_MOUNT}/{runs}")
    if name in layout.scripted:
        return (*first, "/bin/sh", f"{defaults.LAUNCH_MOUNT}/{script_name(layout, name)}")
    command = layout.experiment.roles[name].command
    return () if command is None else (*first, *command)


_SECTIONS_OF_RUN = {RUN_SCRIPT: (), STAY_SCRIPT: ("stay",)}


def _first_process(layout: Layout, name: str) -> str | None:
    """Return the script that is process 1 of the role's containers; None if the role's own command is."""
    if layout.stays(name):
        return STAY_SCRIPT
    return RUN_SCRIPT if name in layout.scripted else None


def container_args(layout: Layout, name: str) -> tuple[str, ...]:
    """Return the container's arguments: the words of the user that the script passes to the program that it starts."""
    launcher, role = layout.experiment.launcher, layout.experiment.roles[name]
    if layout.launching is not None:
        return _words(launcher) if name == layout.launching else ()
    if not role.ranked:
        return () if role.args is None else tuple(role.args)
    return _words(launcher) if role.command is None else tuple(role.command)


def _words(launcher: Launcher) -> tuple[str, ...]:
    if launcher.script is not None:
        return (*launcher.script.launcher_args, launcher.script.script, *launcher.script.args)
    return (*(() if launcher.mpi is None else launcher.mpi.launcher_args), *launcher.program)


def start_script(launcher: Launcher) -> str:
    """Return the name of the file with the line that starts the launcher."""
    return "torchrun_elastic.sh" if launcher.elastic is not None else _STARTS[launcher.kind]


def _launch_script(layout: Layout, name: str) -> str:
    """Return the content of the script with this name (`script_name`)."""
    peers = PEERS_SECTION if _peers(layout) else None
    if name == SERVE_SCRIPT:
        waits = [] if peers is None else [peers]
        return script("start.sh", waits) + script("serve.sh" if layout.naming.agent is None else "keep_up.sh")
    if name == COMMAND_SCRIPT:
        return _start(layout, peers) + script("command.sh")
    address = ["elastic-on-host"] if layout.elastic_on_host else []
    start = _start(layout, _waits(layout), address)
    return start + script(start_script(layout.experiment.launcher), without=_left_out(layout))


# The file with the line that starts, by launcher; an elastic torchrun has its own.
_STARTS = {
    "torchrun": "torchrun.sh",
    "accelerate": "accelerate.sh",
    "deepspeed": "deepspeed.sh",
    "mpi": "mpirun.sh",
    "tensorflow": "command.sh",
    "jax": "command.sh",
    "command": "command.sh",
}


def _start(layout: Layout, waits: str | None = None, own: Collection[str] = ()) -> str:
    """Return the beginning of a script: who this pod is, its SSH server, and what it waits for (a section of start.sh,
    or nothing). own: further sections."""
    sections = {*_world(layout), *own}
    if layout.launches_by_index:
        sections |= {"others-serve", *(["others-wait"] if _peers(layout) else [])}
    if _mpi_hosts(layout):
        sections.add("open-mpi")
    if layout.ssh_roles:
        sections.add("sshd")
    if waits is not None:
        sections.add(waits)
    return script("start.sh", sections)


def _world(layout: Layout) -> set[str]:
    """Return the sections of start.sh that tell a pod its place in the world."""
    launcher = layout.experiment.launcher
    if launcher.tensorflow is not None:
        sections, behind = ({"tf-config"} if layout.tf_config else set()), "tf-config-own-port"
    elif launcher.over_ssh is None and launcher.elastic is None:  # an elastic world numbers its own ranks
        sections, behind = ({"rank"} if launcher.jax is None else {"rank", "jax"}), "own-address"
    else:
        return set()
    return sections | {behind} if sections and layout.behind_services else sections


def _waits(layout: Layout) -> str | None:
    """Return the section of start.sh that waits for other pods; None where there are none, or where the operator waits
    for them."""
    experiment = layout.experiment
    if experiment.launcher.over_ssh is not None:
        if experiment.runtime is not None:
            return "wait-for-sshd-of-runtime" if _mpi_hosts(layout) else None
        return "wait-for-sshd" if layout.ssh_roles and layout.naming.agent is None else None
    if _peers(layout):
        return PEERS_SECTION
    if layout.world.nodes == 1 and not experiment.elastic:
        return None
    return "wait-for-rank-0" if experiment.launcher.tensorflow is None else "wait-for-names"


def _peers(layout: Layout) -> list[str]:
    """Return the names for which every pod waits where nothing holds the job back until all of its pods fit: those of
    all pods that a launch script starts, or of the one that launches, which itself waits for the others. Empty for an
    elastic job, whose rendezvous waits, and where the operator gives pods no names."""
    experiment, launching = layout.experiment, layout.launching
    if layout.environment.admission != defaults.NONE or experiment.elastic or not layout.naming.named:
        return []
    if launching is not None:
        serving = layout.launches_by_index or layout.launched - {launching}
        return [layout.pod_address(launching, 0)] if serving and launching in experiment.roles else []
    pods = [
        layout.pod_address(name, index)
        for name, role in experiment.roles.items()
        if name in layout.launched
        for index in range(role.replicas)
    ]
    return pods if len(pods) > 1 else []


def _mpi_hosts(layout: Layout) -> bool:
    """Return whether mpirun starts processes in other pods than its own."""
    launching = layout.launching
    if launching is None or layout.experiment.launcher.mpi is None or launching not in layout.experiment.roles:
        return False
    return layout.world.nodes > 1 or not layout.experiment.roles[launching].ranked


def _left_out(layout: Layout) -> tuple[str, ...]:
    """Return the words of the launcher's file that this job must not have; the file says why."""
    experiment = layout.experiment
    accelerate = experiment.launcher.accelerate
    if accelerate is not None:
        several = layout.world.processes > 1 and not chooses_mode(accelerate)
        by_deepspeed = layout.world.nodes > 1 and "__use_deepspeed" in _options(accelerate)
        kept = {"--multi_gpu": several, "--deepspeed_multinode_launcher standard": by_deepspeed}
        return tuple(word for word, keep in kept.items() if not keep)
    if experiment.launcher.kind == "deepspeed":
        launching = layout.launching
        return ("--force_multi",) if launching is None or experiment.roles[launching].ranked else ()
    return ()


def _tf_config(layout: Layout) -> str:
    """Return the TF_CONFIG of every pod, with marks for its own task. Peers have their stable addresses; the evaluator
    is not part of the cluster."""
    experiment = layout.experiment
    cluster = {
        str(task_type(experiment, name)): [
            f"{layout.address(name, index)}:{layout.peer_port(name, index, TENSORFLOW)}"
            for index in range(role.replicas)
        ]
        for name, role in experiment.roles.items()
        if in_world(experiment, name)
    }
    return f'{{"cluster": {json.dumps(cluster)}, "task": {{"type": "@TYPE@", "index": @INDEX@}}}}\n'
