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
        said = _said(launcher).get(_name(written)) if written.startswith("--") else None
        if said is not None:
            path = f"launcher.{launcher.kind}.launcher_args[{index}]"
            following = next(iter(words[index + 1 : index + 2]), "")
            yield Option(path, value if has_value else following, said)


def _said(launcher: Launcher) -> dict[str, str]:
    return {**_ALSO.get(launcher.kind, {}), **_options(start_script(launcher))}


@functools.cache
def _options(file: str) -> dict[str, str]:
    return {_name(found["name"]): found["text"] for found in _SAID.finditer(script(file))}


def _name(written: str) -> str:
    """Programs take both spellings."""
    return written.lstrip("-").replace("-", "_")
