"""What a sandbox remembers about itself, in `state.json`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from trainform.sandbox.folder import Layout, write_private
from trainform.sandbox.processes import Process
from trainform.sandbox.settings import NodePool, SandboxSettings, Taint

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class State:
    """`complete` is set when everything was ready; `pulumi` holds the folders of the pulumi command and its home."""

    settings: SandboxSettings
    ports: dict[str, int]
    processes: tuple[Process, ...] = ()
    pulumi: dict[str, str] = dataclasses.field(default_factory=dict)
    complete: bool = False


def write_state(layout: Layout, state: State) -> None:
    """Replace the file as a whole."""
    content = {"format": FORMAT, **dataclasses.asdict(state)}
    write_private(layout.state, json.dumps(content, indent=2, default=str).encode())


def read_state(layout: Layout) -> State | None:
    """None where nothing was started, or where the file is of another version or damaged: then nothing is known."""
    try:
        content = json.loads(layout.state.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    return State(
        settings=_settings(content["settings"]),
        ports=content["ports"],
        processes=tuple(Process(**process) for process in content["processes"]),
        pulumi=content["pulumi"],
        complete=content["complete"],
    )


def _settings(content: dict[str, Any]) -> SandboxSettings:
    pools = tuple(
        NodePool(**{**pool, "taints": tuple(Taint(**taint) for taint in pool["taints"])}) for pool in content["pools"]
    )
    return SandboxSettings(
        folder=Path(content["folder"]),
        pools=pools,
        storage_classes=tuple(content["storage_classes"]),
        contexts=tuple(content["contexts"]),
    )
