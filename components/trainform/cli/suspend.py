"""`trainform suspend`."""

from __future__ import annotations

from msgspec import structs

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, StackJobArgument
from trainform.cli.stack_setting import set_in_stack
from trainform.job.check import check_stack
from trainform.spec.stack import Stack

EFFECT = "`pulumi up` ends the job's pods; what is not in a checkpoint is lost"


@prints(*DATA)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Suspend the job of a stack: its pods end, and its object stays.

    The command writes `trainform:suspend: true` into the stack's file; `pulumi up` applies it in place, without a new
    revision. For a job without a field for it, and for one that Kueue admits, the error shows the command that suspends
    it.

    Exit code: 0, or 2 if the job cannot be suspended, or its files have problems.
    """
    set_in_stack(word, environment, "suspend", _suspended, lambda _: EFFECT, form)


def _suspended(stack: Stack) -> bool:
    """Return True. Raises `InputError` if `pulumi up` would refuse it."""
    check_stack(structs.replace(stack, suspend=True)).or_raise()
    return True
