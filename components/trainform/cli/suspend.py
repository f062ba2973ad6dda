"""`trainform suspend`, and the key of a stack's file that it, `resume` and `rerun` set."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from msgspec import structs

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, StackJobArgument, show_data
from trainform.cli.jobs import stack_of
from trainform.console.lines import echo, note
from trainform.deployed.stack_keys import set_key
from trainform.job.check import check_stack
from trainform.project import require_project, stack_path
from trainform.spec.stack import NAMESPACE, Stack

EFFECT = "`pulumi up` ends the job's pods; what is not in a checkpoint is lost"


@prints(*DATA)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Suspend the job of a stack: its pods end, and its object stays.

    The command writes `trainform:suspend: true` into the stack's file; `pulumi up` applies it in place, without a new
    revision. For a job without a field for it, and for one that Kueue admits, the error shows the command that suspends
    it.

    Exit code: 0, or 2 if the job cannot be suspended, or its files have problems.
    """
    set_in_stack(word, environment, "suspend", _suspended, EFFECT, form)


def _suspended(stack: Stack) -> bool:
    """Return True. Raises `InputError` if `pulumi up` would refuse it."""
    check_stack(structs.replace(stack, suspend=True)).or_raise()
    return True


def set_in_stack(
    word: str, environment: str | None, key: str, choose: Callable[[Stack], int], effect: str, form: Form
) -> None:
    """Set the key of the stack that the words name, and print the next command with its effect. choose: returns the
    value for the stack as it is, or raises `InputError`."""
    root = require_project()
    stack = stack_of(word, environment, root)
    name, next_ = stack.rpartition("/")[2], f"pulumi up -s {shlex.quote(stack)}"
    before, value = set_key(name, key, choose, root)
    setting, was = f"{NAMESPACE}:{key}", getattr(before, key)
    if form is Form.JSON:
        show_data({"ok": True, "stack": stack, "key": setting, "before": was, "after": value, "next": [next_]})
        return
    echo(f"{stack_path(name)}: {setting}: {str(value).lower()}")
    note(f"next: {effect}", f"  {next_}")
