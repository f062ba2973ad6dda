"""`trainform rerun`."""

from __future__ import annotations

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, StackJobArgument
from trainform.cli.suspend import set_in_stack
from trainform.spec.stack import run_number

EFFECT = "`pulumi up` replaces the job with a new revision"


@prints(*DATA)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Run an unchanged experiment again.

    The command adds 1 to `trainform:run` in the stack's file; `pulumi up` replaces the job by a new revision. Claims
    stay, so a program that reads its checkpoints resumes from them.

    Exit code: 0, or 2 if the stack's file has problems.
    """
    set_in_stack(word, environment, "run", lambda stack: run_number(str(stack.run + 1)), EFFECT, form)
