"""Check a file by itself: an environment, and an experiment as it is in an environment. What the two are together is
`check.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from trainform.errors import Problem
from trainform.project import ENVIRONMENTS, known_names
from trainform.rules.environment_rules import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Given, LoadResult, load, load_environment, parameter_problems, read_runtime
from trainform.spec.overlay import apply_overlay
from trainform.spec.release import ReleasedExperiment
from trainform.spec.source import NOWHERE, Source
from trainform.spec.trial import Assignment

ModelT = TypeVar("ModelT", Experiment, Environment)


def check_environment(environment: Environment | Given, root: Path | None = None) -> LoadResult[Environment]:
    """The environment, given as a model, a name, a path or a text, with the problems that it has by itself."""
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
    """The experiment as it is in the environment of this name, with the problems that it has by itself; `tried` as for
    `check_experiment`."""
    wrong = parameter_problems(Experiment, experiment)
    if wrong:
        return LoadResult(None, tuple(wrong), NOWHERE)
    loaded = _of_model(experiment) if isinstance(experiment, Experiment) else load(Experiment, experiment, root)
    # a release outlives environments, and is not edited
    known = [] if isinstance(experiment, ReleasedExperiment) else known_names(ENVIRONMENTS, root)
    found = apply_overlay(loaded, environment, known, tried)
    return read_runtime(found, root)


def _of_model(model: ModelT) -> LoadResult[ModelT]:
    """Return a model that comes from Python. It has no lines, and its name stands where that of a file would."""
    return LoadResult(model, (), Source(f"{type(model).__name__} {model.name}", {}))


def without_consequences(found: Iterable[Problem], loaded: LoadResult[Any], left_out: Set[str]) -> list[Problem]:
    """The problems with their lines, without those that only follow from a problem which the file has at the same place
    or above it, or from a name that was left out of the model."""
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
    """True if the path, or a path above it, is one of the places. Keys have dots of their own, so each dot may be the
    end of one."""
    if not places:
        return False
    return path in places or any(path[: end.start()] in places for end in re.finditer(r"[.\[]", path))
