"""Options of the launcher's own that the launch script gives it, and those of the user's, which come after them and win."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from msgspec import Struct

from trainform.plan.launch.launch import start_script
from trainform.plan.launch.scripts import script
from trainform.spec.launchers import Launcher, ScriptLauncher

_SAID = re.compile(r'^ +--(?P<name>[a-z_-]+) "(?P<text>[^"]+)"', re.MULTILINE)
# Says both in one, and wins over the two (torch/distributed/run.py, `get_rdzv_endpoint`)
_ALSO = {"torchrun": {"rdzv_endpoint": "$MASTER_ADDR:$MASTER_PORT"}}


class Option(Struct, frozen=True):
    """An option of the user's that the launch script gives, too. path: its field. said: what the script says, with a shell's names of variables."""

    path: str
    written: str
    value: str
    said: str


def own_options(launcher: Launcher) -> Iterator[Option]:
    """Those in `launcher_args`."""
    given = launcher.script
    for index, word in enumerate(() if given is None else given.launcher_args):
        written, has_value, value = word.partition("=")
        said = _said(launcher).get(_name(written)) if written.startswith("--") else None
        if said is not None:
            path = f"launcher.{launcher.kind}.launcher_args[{index}]"
            yield Option(path, written, value if has_value else _next(given, index), said)


def _next(given: ScriptLauncher | None, index: int) -> str:
    words = () if given is None else given.launcher_args[index + 1 : index + 2]
    return next(iter(words), "")


def _said(launcher: Launcher) -> dict[str, str]:
    return _options(start_script(launcher)) | _ALSO.get(launcher.kind, {})


@functools.cache
def _options(file: str) -> dict[str, str]:
    return {_name(found["name"]): found["text"] for found in _SAID.finditer(script(file))}


def _name(written: str) -> str:
    """Programs take both spellings."""
    return written.lstrip("-").replace("-", "_")


def filled(said: str, values: dict[str, str]) -> str | None:
    """What a script says, with the values of its variables; None if one has no value that the plan knows."""
    names = re.findall(r"\$([A-Z_]+)", said)
    if any(name not in values for name in names):
        return None
    return re.sub(r"\$([A-Z_]+)", lambda found: values[found[1]], said)
