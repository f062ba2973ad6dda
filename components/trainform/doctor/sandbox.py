"""The fix for a shell that does not use the running sandbox, or that uses a sandbox which has ended.

Each check reports its own problem (no pulumi, no login, no kubeconfig). If the sandbox is the cause, one command fixes all of them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from trainform import defaults
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.errors import TrainformError
from trainform.project import sandbox_up
from trainform.sandbox.folder import PROJECT_STATE, SANDBOX, Layout, chosen_folder
from trainform.sandbox.state import read_settings
from trainform.sandbox.status import is_up

USE_SANDBOX = 'eval "$(trainform sandbox env)"'
FIXED_INSIDE = ("pulumi", "pulumi_plugin", "pulumi_login", "kubeconfig")
FIXED_BY_RESTART = (*FIXED_INSIDE, "cluster", "account")


class SandboxFix(Struct, frozen=True):
    """The command with which this shell uses a running sandbox, and the checks that it fixes. `reason`: why the shell uses none, if the findings
    do not show it."""

    command: str
    checks: Collection[str]
    reason: str = ""


def sandbox_fix(request: Request) -> SandboxFix | None:
    """Return the fix, None if the sandbox is not the cause: none is up, or this shell uses it."""
    try:
        chosen, shells = chosen_folder(), _folder_of_shell()
        offered = is_up(chosen) and _has_context(chosen, request.context)
        if shells is not None and not is_up(shells):
            command = USE_SANDBOX if offered else f"{_up(request)} && {USE_SANDBOX}"
            return SandboxFix(command, FIXED_BY_RESTART, "the sandbox of this shell has ended")
        if shells is None and offered:
            return SandboxFix(USE_SANDBOX, FIXED_INSIDE)
    except TrainformError:  # its folder cannot be read: the findings stay as they are
        pass
    return None


def with_sandbox_fix(findings: Findings, fix: SandboxFix | None) -> dict[str, Finding]:
    """Return the findings with this command as the fix of all checks that it fixes."""
    if fix is None:
        return dict(findings)
    return {name: _with_fix(finding, fix) if name in fix.checks else finding for name, finding in findings.items()}


def _with_fix(finding: Finding, fix: SandboxFix) -> Finding:
    if finding.state not in (State.MISSING, State.NOTE):
        return finding
    text = f"{finding.text}; {fix.reason}" if fix.reason else finding.text
    return dataclasses.replace(finding, text=text, fix=fix.command)


def _up(request: Request) -> str:
    name = None if request.environment is None else request.environment.name
    return sandbox_up(request.root, name)


def _folder_of_shell() -> Path | None:
    """Return the sandbox's folder in this shell's variables, as `trainform sandbox env` sets them; None if there is none."""
    state = os.environ.get("PULUMI_BACKEND_URL", "").removeprefix("file://").partition("?")[0]
    for path in (Path(os.environ.get("KUBECONFIG", "")), Path(state)):
        folder, layout = path.parent, Layout(path.parent)
        is_sandbox = folder == chosen_folder() or folder.parts[-2:] == (PROJECT_STATE, SANDBOX)
        if is_sandbox and path in (layout.kubeconfig, layout.pulumi_state):
            return folder
    return None


def _has_context(folder: Path, context: str | None) -> bool:
    """True if the sandbox has this context; otherwise it may be for another environment."""
    settings = read_settings(folder)
    return context is None or (settings is not None and context in (defaults.SANDBOX_CONTEXT, *settings.contexts))
