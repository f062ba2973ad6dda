"""The experiments and environments that `check`, `plan` and `render` read, with their problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import (
    DATA,
    JOB,
    SUFFIX,
    WHICH_JOB,
    AllOption,
    EnvironmentsOption,
    Form,
    SetOption,
    argument,
)
from trainform.cli.jobs import Job, jobs
from trainform.console.lines import echo_json
from trainform.console.secrets import masked
from trainform.errors import CommandLineError, InputError, Problem, in_order

if TYPE_CHECKING:
    from trainform.job.check import CheckedJob, CheckedPlatform
    from trainform.spec.trial import Assignment


JobsArgument = Annotated[
    list[str] | None, argument(JOB, f"{WHICH_JOB} Experiments: names, or paths of files. {SUFFIX}", candidates.jobs)
]


class Result(Struct, frozen=True):
    """A checked experiment or environment."""

    argument: str  # of the command line, which requested it
    checked: CheckedJob | CheckedPlatform
    stack: str | None = None  # its name, if a stack was requested
    tried: tuple[str, ...] = ()  # values of `--set`, as they may be shown

    @property
    def name(self) -> str:
        """Return the name of the experiment or the environment; for an environment's own stack, that of the stack."""
        return self.checked.name if self.stack is None or self.platform is None else self.stack

    @property
    def job(self) -> CheckedJob | None:
        """Return the experiment, None for an environment alone."""
        from trainform.job.check import CheckedJob

        return self.checked if isinstance(self.checked, CheckedJob) else None

    @property
    def platform(self) -> CheckedPlatform | None:
        """Return the environment alone, None for an experiment."""
        from trainform.job.check import CheckedPlatform

        return self.checked if isinstance(self.checked, CheckedPlatform) else None

    def as_dict(self) -> dict[str, Any]:
        """Return its names for programs, masked: the file of a stack may have any value as a name."""
        named = {"argument": self.argument, "name": self.name, "environment": self.checked.environment}
        return {**masked({**named, "stack": self.stack}), "tried": [*self.tried]}


class Results(Struct, frozen=True):
    """All requested experiments or environments."""

    each: tuple[Result, ...]
    several: bool  # the request could match several, so that JSON is a list

    def problems(self) -> list[Problem]:
        """Return all problems. One that an experiment has in only some of its environments names the environment."""
        jobs = [result.job for result in self.each if result.job is not None]
        found = [problem for result in self.each if result.job is None for problem in result.checked.problems]
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
        words: JobsArgument = None,
        environments: EnvironmentsOption = None,
        every: AllOption = False,
        tried: SetOption = None,
        *,
        form: Form,
    ) -> None:
        show(_results(words or [], environments or [], tried or [], every=every), form is Form.JSON)

    command.__doc__ = show.__doc__
    return prints(*DATA)(command)


def _results(words: list[str], environments: list[str], tried: Sequence[str], *, every: bool) -> Results:
    """Return the results. A name without a file, or an invalid stack, is a result with a problem."""
    assignments: Sequence[Assignment] = ()
    if tried:
        from trainform.spec.trial import read_assignments

        assignments = read_assignments(tried)
    if every:
        words, environments = _all_stacks(words, environments or [None]), []
    if assignments and (every or not words):
        raise CommandLineError("--set changes an experiment, and none is named", "name an experiment, or remove --set")
    shown = tuple(assignment.shown for assignment in assignments)
    found = tuple(Result(job.word, _check(job, assignments), job.stack, shown) for job in jobs(words, environments))
    return Results(found, every or len(found) > 1)


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


def _all_stacks(words: list[str], environments: Sequence[str | None]) -> list[str]:
    """Return the stacks of the project or of the environments, each environment's own first."""
    from trainform.cli.review_stacks import stacks_of

    if words:
        raise CommandLineError(f"--all cannot be used with {JOB}", "name some, or take all stacks")
    found = [stack for each in environments for stack in stacks_of((), each, every=True)[0]]
    if not found:
        raise CommandLineError("the project has no stack", "`trainform new` writes one")
    return found


def _check(job: Job, tried: Sequence[Assignment]) -> CheckedJob | CheckedPlatform:
    """Check an experiment in an environment, or an environment alone."""
    from trainform.job.check import CheckedJob, check_experiment, check_platform, suspend

    try:
        job = job.loaded(alone=True)
        if job.alone:
            return check_platform(job.environment, job.root)
        checked = check_experiment(job.experiment, job.environment, job.run, job.root, None, tried)
        return suspend(checked) if job.suspend else checked
    except InputError as error:
        return CheckedJob(job.word, tuple(error.problems))
