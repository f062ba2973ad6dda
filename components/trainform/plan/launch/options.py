"""Options that the launch script passes to the launcher, and the user's options, which come after them and win."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from trainform.plan.launch.launch import start_script
from trainform.plan.launch.scripts import script
from trainform.spec.launchers import Launcher

_OPTION = re.compile(r'^ +--(?P<name>[a-z_-]+) "?(?P<text>[^"\s\\]+)"?', re.MULTILINE)
# torchrun's endpoint is address and port in one, and wins over the two (torch/distributed/run.py, `get_rdzv_endpoint`).
_EQUIVALENT: Mapping[str, Mapping[str, str]] = {"torchrun": {"rdzv_endpoint": "$MASTER_ADDR:$MASTER_PORT"}}
"""Options that mean the same as those of the script, without the two dashes, each with the value that the plan would
give it."""


class Option(Struct, frozen=True):
    """A user's option that the launch script passes too. path: its field. planned: the script's value, with the names
    of shell variables in it."""

    path: str
    value: str
    planned: str


def own_options(launcher: Launcher) -> Iterator[Option]:
    """Yield the options in `launcher_args` that the launch script passes too."""
    section = launcher.mpi if launcher.script is None else launcher.script
    words = [] if section is None else section.launcher_args
    options = {**_EQUIVALENT.get(launcher.kind, {}), **_script_options(start_script(launcher))}
    for index, word in enumerate(words):
        written, has_value, value = word.partition("=")
        planned = options.get(_name(written)) if written.startswith("--") else None
        if planned is not None:
            path = f"launcher.{launcher.kind}.launcher_args[{index}]"
            following = next(iter(words[index + 1 : index + 2]), "")
            yield Option(path, value if has_value else following, planned)


@functools.cache
def _script_options(file: str) -> dict[str, str]:
    return {_name(option["name"]): option["text"] for option in _OPTION.finditer(script(file))}


def _name(written: str) -> str:
    """Return the option without dashes at its start, and with `_` for those in it: programs accept both spellings."""
    return written.lstrip("-").replace("-", "_")
