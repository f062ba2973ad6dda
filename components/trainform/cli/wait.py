"""`trainform wait`."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer
from msgspec import to_builtins

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, StackJobArgument, option, seconds_of
from trainform.cli.jobs import target_of
from trainform.console.lines import echo
from trainform.console.secrets import masked
from trainform.errors import ClusterError
from trainform.running.model import JobStatus
from trainform.running.read import JOB, PODS
from trainform.running.snapshot import Target
from trainform.running.status import status_of_target
from trainform.running.wait import Change, Ended, wait

Goal = Literal["running", "succeeded"]
GoalOption = Annotated[Goal, option("running|succeeded", "What to wait for. Default: succeeded.", "--for")]
TimeoutOption = Annotated[str | None, option("TIME", "The longest wait: `30m`, `12h`. Default: no limit.", "--timeout")]


@prints(*DATA)
def command(
    word: StackJobArgument,
    environment: StackEnvironmentOption = None,
    goal: GoalOption = "succeeded",
    timeout: TimeoutOption = None,
    *,
    form: Form,
) -> None:
    """Wait until a deployed job runs or has succeeded.

    Each change of its phase is a line, with `--output json` a JSON object. The last line is the reason for the end.
    The command goes on while the cluster does not answer. A suspended job, and a preempted one that waits again, can
    still reach the goal.

    Exit code: 0, 4 if the workload failed, 5 if the job never fits, 6 after the timeout, 7 if something else ended the
    job (preemption, platform, a person) or it is gone; 1 if its status cannot be read, 2 for wrong arguments.
    """
    seconds = None if timeout is None else float(seconds_of("--timeout", timeout))
    target = target_of(word, environment)
    ended = wait(lambda: _read(target), goal, seconds, lambda change: _show(change, form))
    _show(ended, form)
    raise typer.Exit(ended.exit_code)


def _read(target: Target) -> JobStatus:
    """Return the status. Raises `ClusterError` if neither the job nor its pods can be read."""
    found = status_of_target(target)
    if {JOB, PODS} <= found.not_read.keys():
        raise ClusterError(found.not_read[PODS], "ask the platform team for the rights of a reader in the namespace")
    return found


def _show(event: Change | Ended, form: Form) -> None:
    """Print a change or the end on one line."""
    shown = masked(to_builtins(event))
    if form is Form.JSON:
        echo(json.dumps(shown))
    elif isinstance(event, Ended):
        echo(shown["reason"])
    else:
        phase = shown["phase"] or "the cluster does not answer"
        echo(f"{shown['at']} {phase}{': ' if shown['why'] else ''}{shown['why']}")
