"""`trainform check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    Chosen,
    ChosenEnvironmentOption,
    ExperimentArguments,
    JsonOption,
    RunOption,
    StacksOption,
    choose,
)
from trainform.errors import InputError, in_order
from trainform.project import project_root
from trainform.terminal.lines import echo, echo_json, note

if TYPE_CHECKING:
    from trainform.examine import Examined


@prints_data
def command(
    experiments: ExperimentArguments = None,
    environment: ChosenEnvironmentOption = None,
    stacks: StacksOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find every problem of experiments in an environment, without a cluster.

    All problems of all files are printed at once: the place, the value, why it is wrong, and what to write instead.
    Notes say what is allowed but may surprise. Exit code: 0, or 2 if there is a problem.
    """
    if stacks:
        results = [result for stack in stacks for result in _of_stack(stack, experiments, environment, run)]
    else:
        results = _examine(choose(experiments, environment, None, run))
    problems = [problem for result in results for problem in result.problems]
    if as_json:
        described = {"ok": not problems, "experiments": [_as_dict(result) for result in results]}
        if problems:
            echo_json(described | {"error": InputError(problems).as_dict()})
            raise typer.Exit(InputError.exit_code)
        echo_json(described)
        return
    for result in results:
        if not result.problems and result.experiment is None:
            echo(f"{result.name}: ok, an environment")
        elif not result.problems:
            plan = result.plan()
            echo(
                f"{result.name}: ok, {plan.totals.pods} pods, {sum(plan.totals.accelerators.values())} accelerators, revision {plan.revision}"
            )
            note(*(f"  note: {text}" for text in plan.notes))
    if problems:
        raise InputError(problems)


def _of_stack(stack: str, experiments: list[str] | None, environment: str | None, run: int | None) -> list[Examined]:
    """A stack that is wrong is one more problem; an environment's own is examined by itself."""
    from trainform.examine import Examined, examine_environment
    from trainform.spec.stack import OwnStackError

    try:
        return _examine(choose(experiments, environment, stack, run))
    except OwnStackError as error:
        try:
            loaded = examine_environment(error.environment, project_root())
        except InputError as wrong:
            return [Examined(stack, tuple(wrong.problems), None, None, 1)]
        return [Examined(stack, tuple(loaded.problems), None, loaded.model, 1)]
    except InputError as error:
        return [Examined(stack, tuple(error.problems), None, None, 1)]


def _examine(chosen: Chosen) -> list[Examined]:
    """A name without a file is one more problem, so that the other experiments are checked all the same."""
    from trainform.examine import Examined, examine

    found = []
    for experiment in chosen.experiments:
        try:
            found.append(examine(experiment, chosen.environment, chosen.run, chosen.root))
        except InputError as error:
            name = experiment if isinstance(experiment, str) else experiment.name
            found.append(Examined(name, tuple(error.problems), None, None, chosen.run))
    return found


def _as_dict(result: Examined) -> dict[str, object]:
    problems = in_order(result.problems)
    described: dict[str, object] = {"name": result.name, "ok": not problems}
    if not problems and result.experiment is not None:
        plan = result.plan()
        described |= {
            "job": plan.job,
            "revision": plan.revision,
            "pods": plan.totals.pods,
            "accelerators": plan.totals.accelerators,
            "notes": list(plan.notes),
        }
    return described | {"problems": [problem.as_dict() for problem in problems]}
