"""Verbs that set a key in a stack's file, which `pulumi up` applies."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from trainform.cli.arguments import Form, show_data
from trainform.cli.jobs import stack_of
from trainform.console.lines import echo, note
from trainform.deployed.stack_keys import set_key
from trainform.project import require_project, stack_path
from trainform.spec.stack import NAMESPACE, Stack

Choose = Callable[[Stack], int]
"""Returns the new value, or raises `InputError`."""


def set_in_stack(
    word: str, environment: str | None, key: str, choose: Choose, effect: Callable[[Stack], str], form: Form
) -> None:
    """Set the key of the stack that the words name, and print the next command with its effect. effect: given the stack
    as it was before."""
    root = require_project()
    stack = stack_of(word, environment, root)
    name, command = stack.rpartition("/")[2], f"pulumi up -s {shlex.quote(stack)}"
    before, value = set_key(name, key, choose, root)
    path, setting, was = stack_path(name), f"{NAMESPACE}:{key}", getattr(before, key)
    if form is Form.JSON:
        written = [path] if value != was else []
        change = {"key": setting, "before": was, "after": value}
        show_data({"ok": True, "stack": stack, **change, "written": written, "next": [command]})
        return
    shown = str(value).lower()
    echo(
        f"{path} does not change: {setting} is {shown} already" if value == was else f"wrote {path}: {setting}: {shown}"
    )
    note(f"next: {effect(before)}", f"  {command}")
