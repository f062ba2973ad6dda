"""What a sandbox remembers about itself, in `state.json`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainform.errors import InputError
from trainform.sandbox.addons.table import together
from trainform.sandbox.folder import Layout, read_private, sandbox_edge, write_private
from trainform.sandbox.processes import Process
from trainform.sandbox.settings import NodePool, SandboxSettings, Taint
from trainform.toolchain.model import PulumiTools

# Raise it when a field changes its meaning; rows of `processes` never do.
FORMAT = 2
# What reading JSON raises that has not the fields of what was written.
_DAMAGED = (AttributeError, KeyError, OverflowError, TypeError, ValueError, InputError)


@dataclasses.dataclass(frozen=True)
class State:
    """`complete` is set when everything was ready; `pulumi` is the one that belongs to this sandbox."""

    settings: SandboxSettings
    pulumi: PulumiTools
    ports: dict[str, int]
    processes: tuple[Process, ...] = ()
    complete: bool = False


def write_state(layout: Layout, state: State) -> None:
    """Replace the file as a whole."""
    content = {"format": FORMAT, **dataclasses.asdict(state)}
    write_private(layout.state, json.dumps(content, indent=2, default=str).encode())


def read_state(layout: Layout) -> State | None:
    """None where nothing was started, and where the file is damaged or of another version of trainform."""
    content = _read(layout)
    if content.get("format") != FORMAT:
        return None
    try:
        tools = content["pulumi"]
        return State(
            settings=_settings(content["settings"]),
            pulumi=PulumiTools(Path(tools["bin"]), Path(tools["home"]), tools["origin"]),
            ports=dict(content["ports"]),
            processes=tuple(read_processes(layout)),
            complete=bool(content["complete"]),
        )
    except _DAMAGED:
        return None


def read_processes(layout: Layout) -> list[Process]:
    """What was started. Of any version: after an update of trainform, `down` must still find what the old one left running. Rows that
    are damaged are left out."""
    rows = _read(layout).get("processes", [])
    return list(_processes(rows if isinstance(rows, list) else []))


def _processes(rows: list[Any]) -> Iterator[Process]:
    for row in rows:
        with contextlib.suppress(*_DAMAGED):
            yield Process(str(row["name"]), int(row["pid"]), float(row["started"]), str(row["binary"]), str(row["log"]))


@sandbox_edge
def read_settings(folder: Path) -> SandboxSettings | None:
    """The settings of the last `up` in a folder."""
    state = read_state(Layout(folder))
    return None if state is None else state.settings


def _read(layout: Layout) -> dict[str, Any]:
    try:
        written = read_private(layout.state)
        content = None if written is None else json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _settings(content: dict[str, Any]) -> SandboxSettings:
    pools = tuple(
        NodePool(**{**pool, "taints": tuple(Taint(**taint) for taint in pool["taints"])}) for pool in content["pools"]
    )
    return SandboxSettings(
        folder=Path(content["folder"]),
        pools=pools,
        storage_classes=tuple(content["storage_classes"]),
        contexts=tuple(content["contexts"]),
        # Not there in what a trainform without add-ons wrote: its sandbox goes on running.
        addons=together(content.get("addons", ())),
    )
