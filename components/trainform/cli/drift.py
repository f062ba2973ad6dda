"""`trainform drift`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, JobsEnvironmentOption, StackJobArguments, show
from trainform.cli.review_stacks import refuse_wrong_words, stacks_of
from trainform.errors import each_result

FAILED, DRIFT = 1, 3


AllOption = Annotated[bool, typer.Option("--all", help="All stacks of the environment (-e).")]
FailOption = Annotated[bool, typer.Option("--fail", help="End with exit code 3 if there is drift.")]


@prints(*REPORT)
def command(
    stacks: StackJobArguments = None,
    every: AllOption = False,
    environment: JobsEnvironmentOption = None,
    fail: FailOption = False,
    *,
    form: Form,
) -> None:
    """List changes made outside Pulumi since the last `pulumi up`.

    It renders the recorded experiment again and compares it with the live objects; where that is not enough, it sends
    a dry run to the API server. It does not run Pulumi's engine, and changes nothing. Defaults, and fields that
    controllers or other managers own, are not drift. Values of Secrets are not read.

    Exit code: 0, 1 if something could not be compared, 2 for wrong arguments, or with --fail 3 if there is drift.
    """
    named = [] if stacks is None else stacks
    refuse_wrong_words(named, environment, [], None, every=every)
    found, root = stacks_of(named, environment, every=every)
    from trainform.deployed.stacks import load_project_stack
    from trainform.stacks.drift.report import find_drift
    from trainform.stacks.drift.report_model import Outcome
    from trainform.stacks.drift.text import documents

    report = find_drift(each_result(lambda name: load_project_stack(name, root), found))
    show(form, report.model_dump(mode="json"), *documents(report))
    outcomes = {stack.outcome for stack in report.stacks}
    if outcomes & {Outcome.failed, Outcome.incomplete}:
        raise typer.Exit(FAILED)
    if fail and Outcome.drift in outcomes:
        raise typer.Exit(DRIFT)
