"""The sandbox's part in what is missing: a shell that is not in the one that is up here, or in one that has ended.

Each look tells what it misses by itself (no pulumi, no login, no kubeconfig); where the sandbox is the cause, one command mends them all.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from pathlib import Path

from trainform.catalog import defaults
from trainform.doctor.model import Asked, Finding, Findings, State
from trainform.errors import TrainformError
from trainform.project import ENVIRONMENTS, known_names, sandbox_up
from trainform.sandbox.folder import PROJECT_STATE, SANDBOX, Layout, chosen_folder
from trainform.sandbox.state import read_settings
from trainform.sandbox.status import is_up

ENTER = 'eval "$(trainform sandbox env)"'
OUTSIDE = ("pulumi", "pulumi_plugin", "pulumi_login", "kubeconfig")
ENDED = (*OUTSIDE, "cluster", "account")


@dataclasses.dataclass(frozen=True)
class WayIn:
    """The command that brings this shell into a sandbox that runs, and the checks whose troubles that mends. reason: why it is not in one,
    where the findings do not show it."""

    command: str
    checks: Collection[str]
    reason: str = ""


def way_in(asked: Asked) -> WayIn | None:
    """None where the sandbox is not the cause of anything: none is up, or this shell is in it."""
    try:
        chosen, shells = chosen_folder(), _folder_of_shell()
        offered = is_up(chosen) and _offers(chosen, asked.context)
        if shells is not None and not is_up(shells):
            command = ENTER if offered else f"{_up(asked)} && {ENTER}"
            return WayIn(command, ENDED, "the sandbox of this shell has ended")
        if shells is None and offered:
            return WayIn(ENTER, OUTSIDE)
    except TrainformError:  # its folder cannot be read: what is missing is told without it
        pass
    return None


def by_way_in(findings: Findings, way: WayIn | None) -> dict[str, Finding]:
    """The findings, with the one command as the fix of all that it mends."""
    if way is None:
        return dict(findings)
    return {name: _mended(finding, way) if name in way.checks else finding for name, finding in findings.items()}


def _mended(finding: Finding, way: WayIn) -> Finding:
    if finding.state not in (State.MISSING, State.NOTE):
        return finding
    text = f"{finding.text}; {way.reason}" if way.reason else finding.text
    return dataclasses.replace(finding, text=text, fix=way.command)


def _up(asked: Asked) -> str:
    name = None if asked.environment is None else asked.environment.name
    if name in known_names(ENVIRONMENTS, asked.root):
        return f"trainform sandbox up -e {name}"
    return sandbox_up(asked.root)


def _folder_of_shell() -> Path | None:
    """The sandbox that the variables of this shell name, as `trainform sandbox env` sets them; None where they name none."""
    state = os.environ.get("PULUMI_BACKEND_URL", "").removeprefix("file://").partition("?")[0]
    for path in (Path(os.environ.get("KUBECONFIG", "")), Path(state)):
        folder, layout = path.parent, Layout(path.parent)
        in_place = folder == chosen_folder() or folder.parts[-2:] == (PROJECT_STATE, SANDBOX)
        if in_place and path in (layout.kubeconfig, layout.pulumi_state):
            return folder
    return None


def _offers(folder: Path, context: str | None) -> bool:
    """Whether the sandbox is a cluster of this context. One that has it not may be meant for another environment."""
    settings = read_settings(folder)
    return context is None or (settings is not None and context in (defaults.SANDBOX_CONTEXT, *settings.contexts))
