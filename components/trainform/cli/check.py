"""`trainform check`."""

from __future__ import annotations

import typer

from trainform.cli.arguments import EnvironmentOption, ExperimentArguments, JsonOption
from trainform.errors import InputError, in_order
from trainform.examine import Examined, examine
from trainform.terminal.lines import echo, echo_json


def command(experiments: ExperimentArguments, environment: EnvironmentOption, as_json: JsonOption = False) -> None:
    """Validate experiments for an environment, without a cluster.

    Every problem of every file is told at once: where, what was given, why it is wrong, what to write. Exit code 2 if there is any. What is
    allowed, but may surprise, is noted.
    """
    results = [_examine(experiment, environment) for experiment in experiments]
    problems = [problem for result in results for problem in result.problems]
    if as_json:
        echo_json({"ok": not problems, "experiments": [_as_dict(result) for result in results]})
        if problems:
            raise typer.Exit(InputError.exit_code)
        return
    for result in results:
        if not result.problems:
            plan = result.plan()
            echo(
                f"{result.name}: ok, {plan.totals.pods} pods, {sum(plan.totals.accelerators.values())} accelerators, revision {plan.revision}"
            )
            for note in plan.notes:
                echo(f"  note: {note}")
    if problems:
        raise InputError(problems)


def _examine(experiment: str, environment: str) -> Examined:
    """A name without a file is one more problem, so that the other experiments are checked all the same."""
    try:
        return examine(experiment, environment)
    except InputError as error:
        return Examined(experiment, tuple(error.problems), None, None, 1)


def _as_dict(result: Examined) -> dict[str, object]:
    problems = in_order(result.problems)
    described: dict[str, object] = {"name": result.name, "ok": not problems}
    if not problems:
        plan = result.plan()
        described |= {
            "job": plan.job,
            "revision": plan.revision,
            "pods": plan.totals.pods,
            "accelerators": plan.totals.accelerators,
            "notes": list(plan.notes),
        }
    return described | {"problems": [problem.as_dict() for problem in problems]}
