"""`trainform check`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    Chosen,
    EnvironmentsOption,
    ExperimentArguments,
    JsonOption,
    RunOption,
    StacksOption,
    choose,
)
from trainform.errors import InputError, Problem, in_order
from trainform.terminal.lines import echo, echo_json, note

if TYPE_CHECKING:
    from trainform.check import CheckedJob
    from trainform.check_platform import CheckedPlatform
    from trainform.spec.load import Given


@prints_data
def command(
    experiments: ExperimentArguments = None,
    environments: EnvironmentsOption = None,
    stacks: StacksOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find every problem of experiments in an environment, without a cluster.

    All problems of all files are printed at once: the path, the value, the reason, and the fix. Notes show what is
    allowed but may surprise. Without an experiment, each environment is checked with the objects of its own stack.
    Exit code: 0, or 2 if there is a problem.
    """
    if stacks:
        results = [result for stack in stacks for result in _of_stack(stack, experiments, environments, run)]
    else:
        results = _check(choose(experiments, environments, None, run, alone=True))
    problems = _problems(results)
    if as_json:
        described = {"ok": not problems, "experiments": [_as_dict(result) for result in results]}
        if problems:
            echo_json(described | {"error": InputError(problems).as_dict()})
            raise typer.Exit(InputError.exit_code)
        echo_json(described)
        return
    several = not stacks and len({result.environment for result in results if result.environment}) > 1
    for result in results:
        if not result.problems:
            echo(_summary(result, several))
            note(*(f"  note: {text}" for text in _notes(result)))
    if problems:
        raise InputError(problems)


def _summary(result: CheckedJob | CheckedPlatform, several: bool) -> str:
    """Return the line for a result without problems. several: whether experiments are checked in several environments."""
    from trainform.check_platform import CheckedPlatform

    if isinstance(result, CheckedPlatform):
        return f"{result.name}: ok, an environment"
    plan = result.checked().plan
    pods, accelerators = plan.totals.pods, sum(plan.totals.accelerators.values())
    name = f"{result.name} in {result.environment}" if several else result.name
    amounts = f"{_counted(pods, 'pod')}, {_counted(accelerators, 'accelerator')}"
    return f"{name}: ok, {amounts}, revision {plan.revision}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _of_stack(
    stack: str, experiments: list[str] | None, environments: list[str] | None, run: int | None
) -> list[CheckedJob | CheckedPlatform]:
    """Return the results for one stack. An invalid stack is a result with problems; an environment's own stack is checked alone."""
    from trainform.check import CheckedJob
    from trainform.check_platform import CheckedPlatform

    try:
        found = _check(choose(experiments, environments, stack, run, alone=True))
    except InputError as error:
        return [CheckedJob(stack, tuple(error.problems))]
    return [
        dataclasses.replace(result, name=stack) if isinstance(result, CheckedPlatform) else result for result in found
    ]


def _check(chosen: Chosen) -> list[CheckedJob | CheckedPlatform]:
    """Return the result for each experiment in each environment, or for each environment if there is no experiment. A name without a file
    is a result with a problem, so that the others are checked too."""
    from trainform.check import check_experiment
    from trainform.check_platform import check_platform

    if not chosen.experiments:
        return [_result(environment, check_platform, environment, chosen.root) for environment in chosen.environments]
    return [
        _result(experiment, check_experiment, experiment, environment, chosen.run, chosen.root)
        for experiment in chosen.experiments
        for environment in chosen.environments
    ]


def _result(
    given: Given, check: Callable[..., CheckedJob | CheckedPlatform], *arguments: object
) -> CheckedJob | CheckedPlatform:
    from trainform.check import CheckedJob

    try:
        return check(*arguments)
    except InputError as error:
        return CheckedJob(given if isinstance(given, str) else given.name, tuple(error.problems))


def _problems(results: Sequence[CheckedJob | CheckedPlatform]) -> list[Problem]:
    """Return the problems of all results. Those that an experiment does not have in all of its environments name the environment."""
    from trainform.check import CheckedJob

    jobs = [result for result in results if isinstance(result, CheckedJob)]
    found = [problem for result in results if not isinstance(result, CheckedJob) for problem in result.problems]
    for job in jobs:
        others = [other.of_both for other in jobs if other.name == job.name]
        everywhere = frozenset.intersection(*others)
        for problem in job.problems:
            alone = problem in job.of_both and problem not in everywhere and not _names(problem, job.environment)
            reason = f"in {job.environment}, {problem.reason}" if alone else problem.reason
            found.append(dataclasses.replace(problem, reason=reason))
    return found


def _names(problem: Problem, environment: str) -> bool:
    """Whether the reason says itself in which environment it holds."""
    return re.search(rf"\benvironment {re.escape(environment)}(?![\w-])", problem.reason) is not None


def _notes(result: CheckedJob | CheckedPlatform) -> tuple[str, ...]:
    from trainform.check_platform import CheckedPlatform

    if isinstance(result, CheckedPlatform):
        return result.checked().warnings
    return result.checked().plan.notes


def _as_dict(result: CheckedJob | CheckedPlatform) -> dict[str, object]:
    from trainform.check import CheckedJob

    problems = in_order(result.problems)
    described: dict[str, object] = {"name": result.name, "environment": result.environment, "ok": not problems}
    if not problems:
        if isinstance(result, CheckedJob):
            plan = result.checked().plan
            described |= {
                "job": plan.job,
                "revision": plan.revision,
                "pods": plan.totals.pods,
                "accelerators": plan.totals.accelerators,
            }
        described["notes"] = list(_notes(result))
    return described | {"problems": [problem.as_dict() for problem in problems]}
