"""The fix for a shell that does not use the running sandbox, or whose sandbox has ended: one command for several
checks."""

from __future__ import annotations

import contextlib
import dataclasses
import os

from trainform import defaults
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.errors import TrainformError
from trainform.project import sandbox_up
from trainform.sandbox.folder import Layout, chosen_folder
from trainform.sandbox.state import read_settings
from trainform.sandbox.status import is_up

USE_SANDBOX = 'eval "$(trainform sandbox env)"'
CHECKS = ("pulumi", "pulumi_login", "kubeconfig", "cluster")


def with_sandbox_fix(findings: Findings, request: Request) -> dict[str, Finding]:
    """Return the findings with one command as the fix of the checks that a sandbox fixes, if it is the cause."""
    fix = ""
    with contextlib.suppress(TrainformError):  # its folder cannot be read
        fix = _sandbox_fix(request)
    fixed = [name for name in CHECKS if fix and findings[name].state is State.MISSING]
    return {**findings, **{name: dataclasses.replace(findings[name], fix=fix) for name in fixed}}


def _sandbox_fix(request: Request) -> str:
    """Return the command, an empty text if this shell uses the sandbox that is up, or if none is."""
    folder = chosen_folder()
    used = os.environ.get("KUBECONFIG") == str(Layout(folder).kubeconfig)
    if not is_up(folder):
        name = None if request.environment is None else request.environment.name
        return f"{sandbox_up(request.root, name)} && {USE_SANDBOX}" if used else ""
    settings = read_settings(folder)
    known = settings is not None and request.context in (None, defaults.SANDBOX_CONTEXT, *settings.contexts)
    return USE_SANDBOX if known and not used else ""
