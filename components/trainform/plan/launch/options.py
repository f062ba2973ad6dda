"""Options of the launcher's own that the launch script gives it, and those of the user's, which come after them and
win."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from trainform.plan.launch.launch import start_script
from trainform.plan.launch.scripts import script
from trainform.spec.launchers import Launcher

_SAID = re.compile(r'^ +--(?P<name>[a-z_-]+) "?(?P<text>[^"\s\\]+)"?', re.MULTILINE)
# The endpoint says both in one, and wins over the two (torch/distributed/run.py, `get_rdzv_endpoint`).
_ALSO: Mapping[str, Mapping[str, str]] = {"torchrun": {"rdzv_endpoint": "$MASTER_ADDR:$MASTER_PORT"}}
"""What the plan says beside the options of the script, by the option without its two dashes. In the notation of
`Option.said`."""

# All long options of programs that take the beginning of one, as argparse does, where no other begins like it.
# accelerate does not (`allow_abbrev`).
_BEGINNINGS: Mapping[str, tuple[str, ...]] = {
    "torchrun": (
        "help", "nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "standalone",
        "max_restarts",
        "monitor_interval", "start_method", "event_log_handler", "role", "module", "no_python", "run_path", "log_dir",
        "redirects", "tee",
        "local_ranks_filter", "node_rank", "master_addr", "master_port", "local_addr", "logs_specs", "numa_binding",
        "signals_to_handle",
        "virtual_local_rank", "duplicate_stdout_filters", "duplicate_stderr_filters",
    ),
    "deepspeed": (
        "help", "hostfile", "include", "exclude", "num_nodes", "min_elastic_nodes", "max_elastic_nodes", "num_gpus",
        "num_accelerators",
        "master_port", "master_addr", "node_rank", "launcher", "launcher_args", "module", "no_python", "no_local_rank",
        "no_ssh",
        "no_ssh_check", "force_multi", "save_pid", "enable_each_rank_log", "autotuning", "comment", "account",
        "elastic_training",
        "bind_cores_to_rank", "bind_core_list", "ssh_port", "venv_script",
    ),
}  # fmt: skip


class Option(Struct, frozen=True):
    """An option of the user's that the launch script gives, too. path: its field. said: what the script says, with a
    shell's names of variables."""

    path: str
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
            yield Option(path, value if has_value else following, said)


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
