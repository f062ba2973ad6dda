"""Check an experiment in an environment: every problem of both files at once, each with its line."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.render import RenderedJob, render_job
from trainform.rules.environment import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Given, Loaded, ModelT, Text, load_environment, load_experiment, parse, with_runtime_file
from trainform.spec.queues import QueueRequest
from trainform.spec.source import NOWHERE, Source
from trainform.spec.storage import ClaimRequest

# What a program may add to an environment: the field, and the model of its values.
OWN: dict[str, type[BaseModel]] = {"queues": QueueRequest, "claims": ClaimRequest}


@dataclasses.dataclass(frozen=True)
class CheckedJob:
    """An experiment in an environment, and what is wrong with the two.

    name: the experiment's, or what was given for it where it has none. environment: the same of the environment; "" for a stack that cannot be
    read. sources: the files of the experiment and of the environment, with their lines.
    """

    name: str
    problems: tuple[Problem, ...]
    job: RenderedJob | None = None
    """None where one of the two files cannot be read."""
    environment: str = ""
    of_both: frozenset[Problem] = frozenset()
    """Those of the problems that the experiment has in this environment, and perhaps not in another one."""
    sources: tuple[Source, Source] = (NOWHERE, NOWHERE)

    def checked(self) -> RenderedJob:
        """The job; InputError with every problem where there is one."""
        if self.problems or self.job is None:
            raise InputError(self.problems)
        return self.job


def check_experiment(
    experiment: Experiment | Given,
    environment: Environment | Given,
    run: int = 1,
    root: Path | None = None,
    today: datetime.date | None = None,
) -> CheckedJob:
    """Check an experiment in an environment without a cluster.

    Each is a model, a name in `stacks/`, the path of a file, or a text. `run` counts deliberate repetitions of an unchanged experiment,
    from 1. root: the project's folder; None: that of the current folder, from which paths count then. Raises InputError where a
    name or path has no file. today: the day on which waivers must hold; None: this day, in UTC.
    """
    if today is None:
        today = datetime.datetime.now(datetime.UTC).date()
    loaded_environment = check_environment(environment, root)
    loaded = _load_experiment(experiment, root)
    problems = [*_run_problems(run), *loaded_environment.problems, *loaded.problems]
    job = None
    of_both: list[Problem] = []
    if loaded.model is not None and loaded_environment.model is not None:
        # where a part of a file is wrong, the model holds the rest, and what is wrong in the rest is reported too
        job = render_job(loaded.model, loaded_environment.model, run, today=today)
        left_out = loaded_environment.left_out | loaded.left_out
        of_both = _without_consequences(job.problems, loaded, left_out)
    return CheckedJob(
        name_of(experiment, "experiment") if loaded.model is None else loaded.model.name,
        (*problems, *of_both),
        job,
        name_of(environment, "environment") if loaded_environment.model is None else loaded_environment.model.name,
        frozenset(of_both),
        (loaded.source, loaded_environment.source),
    )


def name_of(given: object, kind: str) -> str:
    """What was given for an experiment or environment that has no model; a value of another type has no name."""
    if isinstance(given, Experiment | Environment | Text):
        return given.name
    return given if isinstance(given, str) else kind


def _run_problems(run: int) -> Iterator[Problem]:
    """What is wrong with a number that comes from Python; the command line and a stack's config check theirs with their own words."""
    if type(run) is not int or not 1 <= run <= defaults.LAST_RUN:
        yield Problem("run", run, f"the value is not a whole number from 1 to {defaults.LAST_RUN}", "write 1 or more")


def check_environment(environment: Environment | Given, root: Path | None = None) -> Loaded[Environment]:
    """The environment, given as a model, a name, a path or a text, with the problems that it has by itself."""
    wrong = _parameter_problems(Environment, environment)
    if wrong:
        return Loaded(None, tuple(wrong), NOWHERE)
    loaded = _of_model(environment) if isinstance(environment, Environment) else load_environment(environment, root)
    if loaded.model is None:
        return loaded
    found = _without_consequences(environment_problems(loaded.model), loaded, loaded.left_out)
    return dataclasses.replace(loaded, problems=(*loaded.problems, *found))


def _load_experiment(experiment: Experiment | Given, root: Path | None) -> Loaded[Experiment]:
    wrong = _parameter_problems(Experiment, experiment)
    if wrong:
        return Loaded(None, tuple(wrong), NOWHERE)
    if isinstance(experiment, Experiment):
        return _of_model(with_runtime_file(experiment, root))
    return load_experiment(experiment, root)


def _parameter_problems(kind: type[BaseModel], given: object) -> list[Problem]:
    name = kind.__name__
    needed = f"a model {name}, or the name or path of its file as text"
    return type_problems(
        name.lower(), given, (kind, str, Text), needed, f"write `{name}.model_validate({{…}})`, or the name as text"
    )


def type_problems(path: str, given: object, kinds: type | tuple[type, ...], needed: str, fix: str) -> list[Problem]:
    """A problem if a value from a Python program has none of these types. It is not shown: secrets may be in it."""
    if isinstance(given, kinds):
        return []
    return [Problem(path, None, f"the value is of the type {type(given).__name__}, and must be {needed}", fix)]


def _of_model(model: ModelT) -> Loaded[ModelT]:
    """A model that comes from Python: it has no file, and no lines."""
    return Loaded(model, (), NOWHERE)


def _without_consequences(found: Iterable[Problem], loaded: Loaded[Any], left_out: Set[str]) -> list[Problem]:
    """The problems with their lines, without those that only follow from a problem which the file has at the same place or above it,
    or from a name that was left out of the model."""
    places = {problem.path for problem in loaded.problems if problem.source == loaded.source.name}
    located = [
        loaded.source.locate(problem)
        for problem in found
        if not (isinstance(problem.value, str) and problem.value in left_out)
    ]
    return [
        problem
        for problem in located
        if not _within(problem.path, places)
        and not (loaded.left_out and problem.path == "roles")  # sums over all roles
    ]


def _within(path: str, places: Set[str]) -> bool:
    """True if the path, or a path above it, is one of the places. Keys have dots of their own, so each dot may be the end of one."""
    if not places:
        return False
    return path in places or any(path[: end.start()] in places for end in re.finditer(r"[.\[]", path))


def with_own(environment: Environment, **parts: Mapping[str, BaseModel]) -> Environment:
    """The environment with these queues or claims added to its own. Raises InputError with every problem of the result, or of the types
    of what is added."""
    wrong = [problem for field, own in parts.items() for problem in _own_problems(field, own)]
    if wrong:
        raise InputError(wrong)
    data = environment.model_dump(by_alias=True, exclude_none=True)
    for field, own in parts.items():
        data[field] = data[field] | {
            name: request.model_dump(by_alias=True, exclude_none=True) for name, request in own.items()
        }
    parsed = parse(Environment, data)
    problems = parsed.problems + (environment_problems(parsed.model) if parsed.model is not None else [])
    if problems or parsed.model is None:
        raise InputError(problems)
    return parsed.model


def _own_problems(field: str, own: object) -> Iterator[Problem]:
    model = OWN[field].__name__
    if not isinstance(own, Mapping):
        yield from type_problems(field, own, Mapping, "a mapping", f"write `{{NAME: {model}(…)}}`")
        return
    for name, request in own.items():
        yield from type_problems(f"{field}.{name}", request, OWN[field], f"a model {model}", f"write `{model}(…)`")
