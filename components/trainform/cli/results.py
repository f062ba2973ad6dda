"""The experiments and environments that `check`, `plan` and `render` read, with their problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    AllOption,
    Chosen,
    EnvironmentsOption,
    ExperimentArguments,
    JsonOption,
    RunOption,
    SetOption,
    StacksOption,
    choose,
)
from trainform.console.lines import echo_json
from trainform.console.secrets import masked
from trainform.errors import CommandLineError, InputError, Problem, in_order

if TYPE_CHECKING:
    from trainform.job.check import CheckedJob, CheckedPlatform
    from trainform.spec.load import Given
    from trainform.spec.trial import Assignment

    _Checked = tuple[str, CheckedJob | CheckedPlatform]


class Result(Struct, frozen=True):
    """A checked experiment or environment."""

    argument: str
    """Command-line argument that requested it."""
    checked: CheckedJob | CheckedPlatform
    stack: str | None = None
    """Name of the stack, if a stack was requested."""
    tried: tuple[str, ...] = ()
    """Values of `--set`, as they may be shown."""

    @property
    def name(self) -> str:
        """Name of the experiment or the environment; for an environment's own stack, that of the stack."""
        return self.stack if self.stack is not None and self.is_platform else self.checked.name

    @property
    def is_platform(self) -> bool:
        """True for an environment without an experiment."""
        from trainform.job.check import CheckedPlatform

        return isinstance(self.checked, CheckedPlatform)

    def as_dict(self) -> dict[str, Any]:
        """Return its names for programs, masked: the file of a stack may have any value as a name."""
        named = {"argument": self.argument, "name": self.name, "environment": self.checked.environment}
        named |= {} if self.stack is None else {"stack": self.stack}
        shown = masked(named)
        return {**shown, "tried": [*self.tried]} if self.tried else shown


class Results(Struct, frozen=True):
    """All requested experiments or environments."""

    each: tuple[Result, ...]
    several: bool
    """True if the request could match several, so that `--json` prints a list."""

    def problems(self) -> list[Problem]:
        """Return all problems. One that an experiment has in only some of its environments names the environment."""
        from trainform.job.check import CheckedJob

        results = [result.checked for result in self.each]
        jobs = [result for result in results if isinstance(result, CheckedJob)]
        found = [problem for result in results if not isinstance(result, CheckedJob) for problem in result.problems]
        for job in jobs:
            everywhere = frozenset.intersection(*(other.of_both for other in jobs if other.name == job.name))
            for problem in job.problems:
                alone = problem in job.of_both and problem not in everywhere
                reason = f"in {job.environment}, {problem.reason}" if alone else problem.reason
                found.append(dataclasses.replace(problem, reason=reason))
        return found

    def or_raise(self) -> tuple[Result, ...]:
        """Return all results. Raises `InputError` with every problem if there is one."""
        problems = self.problems()
        if problems:
            raise InputError(problems)
        return self.each


def reads_experiments(show: Callable[[Results, bool], None]) -> Callable[..., None]:
    """Return a command that reads the experiments, stacks or environments of its arguments, and calls `show`."""

    def command(
        experiments: ExperimentArguments = None,
        environments: EnvironmentsOption = None,
        stacks: StacksOption = None,
        every: AllOption = False,
        run: RunOption = None,
        tried: SetOption = None,
        as_json: JsonOption = False,
    ) -> None:
        show(_results(experiments, environments, stacks, run, every, () if tried is None else tried), as_json)

    command.__doc__ = show.__doc__
    return prints_data(command)


def _results(
    experiments: list[str] | None,
    environments: list[str] | None,
    stacks: list[str] | None,
    run: int | None,
    every: bool,
    tried: Sequence[str],
) -> Results:
    """Return the results. A name without a file, or an invalid stack, is a result with a problem."""
    from trainform.spec.trial import read_assignments

    assignments = read_assignments(tried)
    if every:
        others = {"EXPERIMENT": experiments, "-s": stacks, "--run": run}
        stacks, environments = _all_stacks([name for name, value in others.items() if value], environments), None
    if assignments and not (experiments or stacks):
        raise CommandLineError("--set changes an experiment, and none is named", "name an experiment, or remove --set")
    shown = tuple(assignment.shown for assignment in assignments)
    found: list[Result] = []
    for stack in stacks if stacks else [None]:
        try:
            checked = _check(choose(experiments, environments, stack, run, alone=True), assignments)
        except InputError as error:
            if stack is None:
                raise
            checked = [_invalid(stack, error)]
        found += [Result(argument if stack is None else stack, each, stack, shown) for argument, each in checked]
    return Results(tuple(found), every or len(found) > 1)


def show_json(found: Results, as_data: Callable[[Result], Any]) -> None:
    """Print the result, or a list of several results, each with its problems. as_data: converts a result without
    problems."""
    if not found.several:
        (result,) = found.or_raise()
        echo_json(as_data(result))
        return
    echo_json(
        [
            {
                **result.as_dict(),
                "ok": not result.checked.problems,
                "result": None if result.checked.problems else as_data(result),
                "problems": [problem.as_dict() for problem in in_order(result.checked.problems)],
            }
            for result in found.each
        ]
    )
    if found.problems():
        raise typer.Exit(InputError.exit_code)


def _all_stacks(given: list[str], environments: list[str] | None) -> list[str]:
    """Return the stacks of the project or of the environments, each environment's own first.

    given: arguments that exclude `--all`."""
    from trainform.cli.review_stacks import stacks_of
    from trainform.project import known_stacks, project_root, require_project

    if given:
        raise CommandLineError(f"--all cannot be used with {', '.join(given)}", "name some, or take all stacks")
    if environments:
        return [stack for environment in environments for stack in stacks_of((), environment)[0]]
    root = project_root()
    require_project(root)
    known = known_stacks(root)
    if not known:
        raise CommandLineError("the project has no stack", "`trainform new` writes one")
    return known


def _check(chosen: Chosen, tried: Sequence[Assignment]) -> list[_Checked]:
    """Return argument and result for each experiment in each environment, or for each environment without an
    experiment."""
    from trainform.job.check import check_experiment, check_platform

    if not chosen.experiments:
        return [_result(environment, check_platform, environment, chosen.root) for environment in chosen.environments]
    return [
        _result(experiment, check_experiment, experiment, environment, chosen.run, chosen.root, None, tried)
        for experiment in chosen.experiments
        for environment in chosen.environments
    ]


def _result(given: Given, check: Callable[..., CheckedJob | CheckedPlatform], *arguments: object) -> _Checked:
    argument = given if isinstance(given, str) else given.name
    try:
        return argument, check(*arguments)
    except InputError as error:
        return _invalid(argument, error)


def _invalid(argument: str, error: InputError) -> _Checked:
    from trainform.job.check import CheckedJob

    return argument, CheckedJob(argument, tuple(error.problems))
