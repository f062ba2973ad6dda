"""Verbs that set a key in a stack's file, which `pulumi up` applies."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from trainform.cli.arguments import Form, show_data
from trainform.cli.jobs import stack_of
from trainform.console.lines import echo, note
from trainform.project import require_project, stack_path

if TYPE_CHECKING:
    from pathlib import Path

    from trainform.spec.stack import Stack


def set_in_stack(
    word: str,
    environment: str | None,
    key: str,
    choose: Callable[[Stack, Path], int],
    effect: Callable[[Stack], str],
    form: Form,
) -> None:
    """Set the key of the stack that the words name, and print what the next `pulumi up` does.

    choose: returns the new value, or raises InputError. effect: of the value, given the stack as it was before.
    """
    from trainform.deployed.stack_keys import set_key
    from trainform.spec.stack import NAMESPACE

    root = require_project()
    stack = stack_of(word, environment, root)
    name, command = stack.rpartition("/")[2], f"pulumi up -s {shlex.quote(stack)}"
    before, value = set_key(name, key, lambda found: choose(found, root), root)
    path, setting, was = stack_path(name), f"{NAMESPACE}:{key}", getattr(before, key)
    written = [path] if value != was else []
    if form is Form.JSON:
        show_data(
            {
                "ok": True,
                "stack": stack,
                "key": setting,
                "before": was,
                "after": value,
                "written": written,
                "next": [command],
            }
        )
        return
    shown = str(value).lower()
    echo(f"wrote {path}: {setting}: {shown}" if written else f"{path} does not change: {setting} is {shown} already")
    note(f"next: {effect(before)}", f"  {command}")
