"""`trainform status`."""

from __future__ import annotations

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, StackEnvironmentOption, StackJobArgument, show
from trainform.cli.jobs import target_of

FAILED = 1


@prints(*REPORT)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Show the phase of a deployed job, why it waits or failed, and its pods.

    The phase follows from the pods and their gang: queued, starting, running, ending, restarting, succeeded, failed,
    suspended, gone or unknown. It needs the right to read the namespace; what may not be read is named, and the rest is
    shown.

    Exit code: 0, or 1 if neither the job nor its pods could be read.
    """
    from msgspec import to_builtins

    from trainform.cli.status_text import sections
    from trainform.running.read import JOB, PODS
    from trainform.running.status import status_of_target

    found = status_of_target(target_of(word, environment))
    show(form, to_builtins(found), sections(found))
    if {JOB, PODS} <= found.not_read.keys():
        raise typer.Exit(FAILED)
