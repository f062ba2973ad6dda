"""Two files to a plan, with every problem of both in one go, each with its line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from trainform.backends.job import job_problems, plan_checked_job
from trainform.errors import InputError, Problem
from trainform.plan.environment import environment_problems
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Given, Loaded, load_environment, load_experiment, parse, with_runtime_file


@dataclasses.dataclass(frozen=True)
class Examined:
    """An experiment in an environment: what is wrong, or the models and the plan."""

    name: str
    problems: tuple[Problem, ...]
    experiment: Experiment | None
    environment: Environment | None
    run: int

    def checked(self) -> tuple[Experiment, Environment]:
        """The two models; InputError where there is any problem."""
        if self.problems or self.experiment is None or self.environment is None:
            raise InputError(self.problems)
        return self.experiment, self.environment

    def plan(self) -> Plan:
        """The plan; InputError where there is any problem."""
        return plan_checked_job(*self.checked(), self.run)


def examine(experiment: Given, environment: Given, run: int = 1, root: Path | None = None) -> Examined:
    """Both by name in `stacks/`, by path of a file, or as text."""
    loaded_environment = examine_environment(environment, root)
    loaded = load_experiment(experiment, root)
    problems = [*loaded_environment.problems, *loaded.problems]
    if loaded.model is not None and loaded_environment.model is not None:
        # where a part of a file is wrong, the model holds the rest: what is wrong there too is told in the same go
        found = job_problems(loaded.model, loaded_environment.model, run)
        unsure = loaded_environment.left_out | loaded.left_out
        problems += _new(found, loaded, problems, unsure)
    given = experiment if isinstance(experiment, str) else experiment.name
    name = given if loaded.model is None else loaded.model.name
    return Examined(name, tuple(problems), loaded.model, loaded_environment.model, run)


def examine_environment(environment: Given, root: Path | None = None) -> Loaded[Environment]:
    """The environment by name or path, with the problems that it has by itself."""
    loaded = load_environment(environment, root)
    if loaded.model is None:
        return loaded
    further = _new(environment_problems(loaded.model), loaded, loaded.problems, loaded.left_out)
    return dataclasses.replace(loaded, problems=(*loaded.problems, *further))


def _new(found: Iterable[Problem], loaded: Loaded[Any], told: Iterable[Problem], unsure: Set[str]) -> list[Problem]:
    """What is not a mere consequence of a problem at the same place or above it, or of a name that was left out."""
    places = {problem.path for problem in told if problem.source == loaded.source.name}
    located = [
        loaded.source.locate(problem)
        for problem in found
        if not (isinstance(problem.value, str) and problem.value in unsure)
    ]
    return [
        problem
        for problem in located
        if not _within(problem.path, places)
        and not (loaded.left_out and problem.path == "roles")  # sums over all roles
    ]


def _within(path: str, places: Set[str]) -> bool:
    """Whether the path, or what is above it, is one of the places. Keys have dots of their own, so each dot may be the end of one."""
    if not places:
        return False
    return path in places or any(path[: end.start()] in places for end in re.finditer(r"[.\[]", path))


def resolve(
    experiment: Experiment | str, environment: Environment | str, run: int = 1
) -> tuple[Experiment, Environment]:
    """The models, read where a name or path is given; InputError with every problem, with lines where both are files."""
    if isinstance(experiment, str) and isinstance(environment, str):
        return examine(experiment, environment, run).checked()
    read = load_experiment(experiment).checked() if isinstance(experiment, str) else with_runtime_file(experiment)
    return read, resolve_environment(environment)


def resolve_environment(environment: Environment | str) -> Environment:
    """The model, read where a name or path is given."""
    return examine_environment(environment).checked() if isinstance(environment, str) else environment


def with_own(environment: Environment, **parts: dict[str, BaseModel]) -> Environment:
    """The environment as it would be with these queues or claims of its own; InputError with what is wrong in them."""
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
