"""The state of a sandbox, which is stored in `state.json`."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from trainform.errors import SandboxError
from trainform.local.sandbox.addons import sort_by_table
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import Layout, os_errors_as_sandbox_errors, write_private
from trainform.local.sandbox.processes import Process
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.toolchain.tools import PulumiTools

# To be raised when a field changes its meaning. The rows of `processes` must never change: see `read_processes`.
FORMAT = 2


class State(Struct, frozen=True):
    """The state of a sandbox. `complete`: `up` has ended. `pulumi`: the Pulumi with which it was started."""

    settings: SandboxSettings
    pulumi: PulumiTools
    ports: dict[str, int]
    processes: tuple[Process, ...] = ()
    complete: bool = False


def write_state(layout: Layout, state: State) -> None:
    """Write the state to its file, atomically."""
    content = {"format": FORMAT, **msgspec.to_builtins(state, enc_hook=str)}
    write_private(layout.state, json.dumps(content, indent=2).encode())


def read_state(layout: Layout) -> State | None:
    """Return the stored state; None if there is none, if it is damaged, or if another version of trainform wrote it."""
    content = _read(layout)
    if content.get("format") != FORMAT:
        return None
    try:
        state = msgspec.convert(content, State, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError:
        return None
    # an add-on that this version does not know is left out
    return structs.replace(state, settings=structs.replace(state.settings, addons=sort_by_table(state.settings.addons)))


def read_processes(layout: Layout) -> list[Process]:
    """Return the processes that any version of trainform has started, without damaged rows."""
    found, rows = list[Process](), _read(layout).get("processes", [])
    for row in rows if isinstance(rows, list) else []:
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(row, Process))
    return found


@os_errors_as_sandbox_errors
def read_settings(folder: Path) -> SandboxSettings | None:
    """Return the settings of the last `up` in a folder, None if there was none."""
    state = read_state(Layout(folder))
    return None if state is None else state.settings


@os_errors_as_sandbox_errors
def open_api(folder: Path) -> Api:
    """Return a client of the API server of a sandbox. SandboxError if there is none in the folder."""
    layout = Layout(folder)
    state = read_state(layout)
    if state is None:
        raise SandboxError(f"no sandbox is up in {folder}", "run the same command again")
    return Api(state.ports["kube-apiserver"], Certificates(layout.pki))


def _read(layout: Layout) -> dict[str, Any]:
    """Return the content of the file; nothing if it does not exist, or if it is damaged."""
    try:
        content = json.loads(layout.state.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
