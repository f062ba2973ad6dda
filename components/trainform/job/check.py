"""Check an environment, or an experiment in it: every problem of the files, each with its line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.job.render import RenderedJob, render_job
from trainform.job.render_platform import RenderedPlatform, render_platform
from trainform.project import ENVIRONMENTS, known_names
from trainform.rules.references import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Given, LoadResult, load, load_environment, name_of, parameter_problems, read_runtime
from trainform.spec.local_files import read_files
from trainform.spec.overlay import apply_overlay
from trainform.spec.read import NOWHERE, Source
from trainform.spec.release import ReleasedExperiment
from trainform.spec.stack import Stack
from trainform.spec.trial import Assignment

ModelT = TypeVar("ModelT", Experiment, Environment)


def check_environment(environment: Environment | Given, root: Path | None = None) -> LoadResult[Environment]:
    """Return the environment, given as a model, a name, a path or a text, with the problems that it has by itself."""
    wrong = parameter_problems(Environment, environment)
    if wrong:
        return LoadResult(None, tuple(wrong), NOWHERE)
    loaded = _of_model(environment) if isinstance(environment, Environment) else load_environment(environment, root)
    if loaded.model is None:
        return loaded
    found = without_consequences(environment_problems(loaded.model), loaded, loaded.left_out)
    return structs.replace(loaded, problems=(*loaded.problems, *found))


def load_experiment(
    experiment: Experiment | Given, root: Path | None = None, environment: str = "", tried: Sequence[Assignment] = ()
) -> LoadResult[Experiment]:
    """Return the experiment as it is in the environment of this name, with the problems that it has by itself; `tried`
    as for `check_experiment`."""
    wrong = parameter_problems(Experiment, experiment)
    if wrong:
        return LoadResult(None, tuple(wrong), NOWHERE)
    loaded = _of_model(experiment) if isinstance(experiment, Experiment) else load(Experiment, experiment, root)
    # a release outlives environments, and is not edited
    known = [] if isinstance(experiment, ReleasedExperiment) else known_names(ENVIRONMENTS, root)
    return read_runtime(read_files(apply_overlay(loaded, environment, known, tried), root), root)


def _of_model(model: ModelT) -> LoadResult[ModelT]:
    """Return a model that comes from Python. It has no lines, and its name stands where that of a file would."""
    return LoadResult(model, (), Source(f"{type(model).__name__} {model.name}", {}))


def without_consequences(found: Iterable[Problem], loaded: LoadResult[Any], left_out: Set[str]) -> list[Problem]:
    """Return the problems with their lines, without those that only follow from a problem which the file has at the
    same place or above it, or from a name that was left out of the model."""
    places = {problem.path for problem in loaded.problems if problem.source in ("", loaded.source.name)}
    located = [
        loaded.source.locate(problem)
        for problem in found
        if not (isinstance(problem.value, str) and problem.value in left_out)
    ]
    return [
        problem
        for problem in located
        if not _within(problem.path, places)
        and not (loaded.left_out and problem.path.endswith("roles"))  # sums over all roles
    ]


def _within(path: str, places: Set[str]) -> bool:
    """Return True if the path, or a path above it, is one of the places. Keys have dots of their own, so each dot may
    be the end of one."""
    if not places:
        return False
    return path in places or any(path[: end.start()] in places for end in re.finditer(r"[.\[]", path))


class CheckedJob(Struct, frozen=True):
    """An experiment in an environment, and what is wrong with the two.

    name: the experiment's, or what was given for it where it has none. environment: the same of the environment; "" for
    a stack that cannot be read. sources: the files of the experiment and of the environment, with their lines.
    """

    name: str
    problems: tuple[Problem, ...]
    job: RenderedJob | None = None
    """None where one of the two files cannot be read."""
    environment: str = ""
    of_both: frozenset[Problem] = frozenset()
    """Those of the problems that the experiment has in this environment, and perhaps not in another one."""
    sources: tuple[Source, Source] = (NOWHERE, NOWHERE)
    release: str | None = None
    """The release in which the experiment is; None if it is in its own file, or in none."""

    def or_raise(self) -> RenderedJob:
        """Return the job; InputError with every problem where there is one."""
        if self.problems or self.job is None:
            raise InputError(self.problems)
        return self.job


def check_experiment(
    experiment: Experiment | Given,
    environment: Environment | Given,
    run: int = 1,
    root: Path | None = None,
    today: datetime.date | None = None,
    tried: Sequence[Assignment] = (),
) -> CheckedJob:
    """Check an experiment in an environment without a cluster.

    Each is a model, a name in `stacks/`, the path of a file, a text, or a release of the experiment. `run` counts
    deliberate repetitions of an unchanged experiment, from 1. root: the project's folder; None: that of the current
    folder, from which paths count then. Raises InputError where a name or path has no file. today: the day on which
    waivers must hold; None: this day, in UTC. tried: values of the experiment that stand in no file, set after what the
    experiment says of this environment.
    """
    if today is None:
        today = datetime.datetime.now(datetime.UTC).date()
    loaded_environment = check_environment(environment, root)
    environment_name = (
        name_of(environment, "environment") if loaded_environment.model is None else loaded_environment.model.name
    )
    loaded = load_experiment(experiment, root, environment_name, tried)
    problems = [*_run_problems(run), *loaded_environment.problems, *loaded.problems]
    job = None
    of_both: list[Problem] = []
    if loaded.model is not None and loaded_environment.model is not None:
        # where a part of a file is wrong, the model holds the rest, and what is wrong in the rest is reported too
        job = render_job(loaded.model, loaded_environment.model, run, today=today)
        left_out = loaded_environment.left_out | loaded.left_out
        of_both = _of_both(job, loaded, left_out)
    return CheckedJob(
        name_of(experiment, "experiment") if loaded.model is None else loaded.model.name,
        (*problems, *of_both),
        job,
        environment_name,
        frozenset(of_both),
        (loaded.source, loaded_environment.source),
        experiment.release if isinstance(experiment, ReleasedExperiment) else None,
    )


def _of_both(job: RenderedJob, loaded: LoadResult[Experiment], left_out: Set[str]) -> list[Problem]:
    """Return the problems of the job with their lines. What the experiment has before its overlay is listed once,
    whether it is in force or not."""
    before = structs.replace(loaded, source=structs.replace(loaded.source, layers=()))
    of_base = without_consequences(job.of_base, before, left_out)
    listed = {(problem.path, problem.code) for problem in of_base}
    found = without_consequences(job.problems, loaded, left_out)
    return [*(problem for problem in found if (problem.path, problem.code) not in listed), *of_base]


def _run_problems(run: int) -> Iterator[Problem]:
    """Yield what is wrong with a number that comes from Python; the command line and a stack's config check theirs with
    their own words."""
    if type(run) is not int or not 1 <= run <= defaults.LAST_RUN:
        yield Problem("run", run, f"the value is not a whole number from 1 to {defaults.LAST_RUN}", "write 1 or more")


def check_stack(stack: Stack, root: Path | None = None) -> CheckedJob:
    """Check the experiment that the stack runs, as `check_experiment` does; suspended if the stack says so."""
    checked = check_experiment(stack.given, stack.environment, stack.run, root)
    return suspend(checked) if stack.suspend else checked


def suspend(checked: CheckedJob) -> CheckedJob:
    """Return the job suspended, or with a problem if that is not possible. The revision does not change."""
    if checked.job is None:
        return checked
    from trainform.backends.suspend import NOTE, suspend_problems, suspended  # only a few jobs are

    job = checked.job
    problems = (*suspend_problems(job.plan),)
    if problems:
        return structs.replace(checked, problems=(*checked.problems, *problems))
    plan = structs.replace(job.plan, notes=(*job.plan.notes, NOTE))
    return structs.replace(checked, job=structs.replace(job, plan=plan, manifests=suspended(job.manifests, plan)))


class CheckedPlatform(Struct, frozen=True):
    """An environment by itself, and what is wrong with it and with the objects of its own stack. name: as for
    `CheckedJob`."""

    name: str
    problems: tuple[Problem, ...]
    platform: RenderedPlatform | None = None
    """None where the file has problems, so that there are no objects."""

    @property
    def environment(self) -> str:
        """Return the environment's name."""
        return self.name if self.platform is None else self.platform.environment.name

    def or_raise(self) -> RenderedPlatform:
        """Return the environment with its objects; InputError with every problem where there is one."""
        if self.problems or self.platform is None:
            raise InputError(self.problems)
        return self.platform


def check_platform(environment: Environment | Given, root: Path | None = None) -> CheckedPlatform:
    """Check an environment and the objects of its own stack, without an experiment. Raises InputError where a name or
    path has no file."""
    loaded = check_environment(environment, root)
    name = name_of(environment, "environment") if loaded.model is None else loaded.model.name
    if loaded.model is None or loaded.problems:
        return CheckedPlatform(name, loaded.problems)
    platform = render_platform(loaded.model)
    return CheckedPlatform(name, tuple(map(loaded.source.locate, platform.problems)), platform)
