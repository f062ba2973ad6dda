"""The fix for a shell that does not use the running sandbox, or that uses a sandbox which has ended: one command for several checks."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from trainform import defaults
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.errors import TrainformError
from trainform.project import sandbox_up
from trainform.sandbox.folder import PROJECT_STATE, SANDBOX, Layout, chosen_folder
from trainform.sandbox.state import read_settings
from trainform.sandbox.status import is_up

USE_SANDBOX = 'eval "$(trainform sandbox env)"'
CHECKS = ("pulumi", "pulumi_login", "kubeconfig", "cluster")


def with_sandbox_fix(findings: Findings, request: Request) -> dict[str, Finding]:
    """Return the findings with one command as the fix of the checks that a sandbox fixes, if it is the cause."""
    try:
        fix, why = _sandbox_fix(request)
    except TrainformError:  # its folder cannot be read
        fix, why = "", ""
    return {
        name: dataclasses.replace(finding, text=f"{finding.text}{why}", fix=fix)
        if fix and name in CHECKS and finding.state is State.MISSING
        else finding
        for name, finding in findings.items()
    }


def _sandbox_fix(request: Request) -> tuple[str, str]:
    """Return the command and the reason; empty texts if no sandbox is up, or if this shell uses it."""
    folder, of_shell = chosen_folder(), _folder_of_shell()
    settings = read_settings(folder) if is_up(folder) else None
    known = settings is not None and request.context in (None, defaults.SANDBOX_CONTEXT, *settings.contexts)
    if of_shell is not None and not is_up(of_shell):
        up = sandbox_up(request.root, None if request.environment is None else request.environment.name)
        return USE_SANDBOX if known else f"{up} && {USE_SANDBOX}", "; the sandbox of this shell has ended"
    return (USE_SANDBOX, "") if known and of_shell is None else ("", "")


def _folder_of_shell() -> Path | None:
    """Return the sandbox's folder in this shell's variables, as `trainform sandbox env` sets them; None if there is none."""
    folder = Path(os.environ.get("KUBECONFIG", "")).parent
    ours = folder == chosen_folder() or folder.parts[-2:] == (PROJECT_STATE, SANDBOX)
    return folder if ours and Path(os.environ["KUBECONFIG"]) == Layout(folder).kubeconfig else None
