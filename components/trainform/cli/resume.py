"""`trainform resume`."""

from __future__ import annotations

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, StackJobArgument
from trainform.cli.suspend import set_in_stack

EFFECT = "`pulumi up` starts the job's pods again, if there is room for them"


@prints(*DATA)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Resume the suspended job of a stack.

    The command writes `trainform:suspend: false` into the stack's file; `pulumi up` applies it in place, without a new
    revision. It does not resume a job that another command has suspended.

    Exit code: 0, or 2 if the stack's file has problems.
    """
    set_in_stack(word, environment, "suspend", lambda _: False, EFFECT, form)
