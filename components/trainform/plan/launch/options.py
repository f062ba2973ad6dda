"""Options of the launcher's own that the launch script gives it, and those of the user's, which come after them and win; and the variables by which
torchrun takes an option that nothing gives."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from trainform.plan.launch.launch import start_script
from trainform.plan.launch.scripts import script
from trainform.spec.launchers import Launcher

_SAID = re.compile(r'^ +--(?P<name>[a-z_-]+) "?(?P<text>[^"\s\\]+)"?', re.MULTILINE)
WORLD = "OF_WORLD_"  # begins what a plan says without a variable: see `plan.notes`
_ALSO: Mapping[str, Mapping[str, str]] = {
    # The endpoint says both in one, and wins over the two; --standalone wins over all (torch/distributed/run.py, `get_rdzv_endpoint`, `run`)
    "torchrun": {
        "rdzv_backend": "static",
        "rdzv_endpoint": "$MASTER_ADDR:$MASTER_PORT",
        "standalone": f"${WORLD}rendezvous",
    },
    # With --cpu, and where a file says so, each machine trains by itself (accelerate at 00785cd, `launch_command`)
    "accelerate": {"cpu": f"${WORLD}mode"},
    # deepspeed/launcher/runner.py
    "deepspeed": {
        "-H": f"${WORLD}hostfile",
        **dict.fromkeys(("include", "-i", "exclude", "-e"), f"${WORLD}nodes hosts"),
        "num_nodes": f"${WORLD}nodes",
        **dict.fromkeys(("num_gpus", "num_accelerators"), f"${WORLD}slots"),
        "launcher": "pdsh",
        "no_ssh": "SSH",
    },
    # mpirun takes its long options with one dash, too
    "mpi": {
        **dict.fromkeys(("np", "n", "-np", "-n"), "$NUM_PROCESSES"),
        **dict.fromkeys(("host", "-host", "-H"), f"${WORLD}nodes hosts"),
        **dict.fromkeys(("hostfile", "-hostfile", "machinefile", "-machinefile"), "$PRTE_MCA_prte_default_hostfile"),
        **dict.fromkeys(("npernode", "-npernode", "N", "-N"), f"${WORLD}slots"),
    },
}
"""What the plan says beside the options of the script, by the option without its two dashes, or with one. In the notation of `Option.said`."""

# All long options of programs that take the beginning of one, as argparse does, where no other begins like it. accelerate does not (`allow_abbrev`).
_BEGINNINGS: Mapping[str, tuple[str, ...]] = {
    "torchrun": (
        "help", "nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "standalone", "max_restarts",
        "monitor_interval", "start_method", "event_log_handler", "role", "module", "no_python", "run_path", "log_dir", "redirects", "tee",
        "local_ranks_filter", "node_rank", "master_addr", "master_port", "local_addr", "logs_specs", "numa_binding", "signals_to_handle",
        "virtual_local_rank", "duplicate_stdout_filters", "duplicate_stderr_filters",
    ),
    "deepspeed": (
        "help", "hostfile", "include", "exclude", "num_nodes", "min_elastic_nodes", "max_elastic_nodes", "num_gpus", "num_accelerators",
        "master_port", "master_addr", "node_rank", "launcher", "launcher_args", "module", "no_python", "no_local_rank", "no_ssh",
        "no_ssh_check", "force_multi", "save_pid", "enable_each_rank_log", "autotuning", "comment", "account", "elastic_training",
        "bind_cores_to_rank", "bind_core_list", "ssh_port", "venv_script",
    ),
}  # fmt: skip
VARIABLES = "PET_"  # begins the name of a variable of torchrun's (torch/distributed/argparse_util.py)


class Option(Struct, frozen=True):
    """An option of the user's that the launch script gives, too. path: its field. said: what the script says, with a shell's names of variables."""

    path: str
    written: str
    value: str
    said: str


def own_options(launcher: Launcher) -> Iterator[Option]:
    """Those in `launcher_args`."""
    given = launcher.mpi if launcher.script is None else launcher.script
    words = [] if given is None else given.launcher_args
    for index, word in enumerate(words):
        written, has_value, value = word.partition("=")
        said = _said(launcher).get(_full(launcher.kind, written))
        if said is not None:
            path = f"launcher.{launcher.kind}.launcher_args[{index}]"
            following = next(iter(words[index + 1 : index + 2]), "")
            yield Option(path, written, value if has_value else following, said)


def torchrun_variables(launcher: Launcher) -> dict[str, str]:
    """What the plan says in the place of torchrun's variables, by their names. Of the others the script gives the option, which wins."""
    if launcher.torchrun is None:
        return {}
    unheeded = unheeded_variables(launcher)
    said = {f"{VARIABLES}{name.upper()}": said for name, said in _said(launcher).items()}
    return {name: text for name, text in said.items() if name not in unheeded}


def unheeded_variables(launcher: Launcher) -> dict[str, str]:
    """The options that the script gives torchrun, by the names of the variables that would give them."""
    given = () if launcher.torchrun is None else _options(start_script(launcher))
    return {f"{VARIABLES}{name.upper()}": name for name in given}


def _said(launcher: Launcher) -> dict[str, str]:
    return {**_ALSO.get(launcher.kind, {}), **_options(start_script(launcher))}


@functools.cache
def _options(file: str) -> dict[str, str]:
    return {_name(found["name"]): found["text"] for found in _SAID.finditer(script(file))}


def _full(kind: str, written: str) -> str:
    """The option as the tables have it; empty for what is none."""
    if not written.startswith("--"):
        return written if written.startswith("-") else ""
    name = _name(written)
    known = _BEGINNINGS.get(kind, ())
    begun = [other for other in known if other.startswith(name)]
    return begun[0] if name and name not in known and len(begun) == 1 else name


def _name(written: str) -> str:
    """Programs take both spellings."""
    return written.lstrip("-").replace("-", "_")


def filled(said: str, values: Mapping[str, str]) -> str | None:
    """What a script says, with the values of its variables; None if one has no value that the plan knows."""
    names = re.findall(r"\$([A-Za-z_]+)", said)
    if any(name not in values for name in names):
        return None
    return re.sub(r"\$([A-Za-z_]+)", lambda found: values[found[1]], said)
