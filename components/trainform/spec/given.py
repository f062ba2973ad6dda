"""What may be given for an experiment or an environment: a model, a name, a path, a text, or a release."""

from __future__ import annotations

from pydantic import BaseModel

from trainform.errors import Problem
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Text
from trainform.spec.release import Released


def name_of(given: object, kind: str) -> str:
    """What was given for an experiment or environment that has no model; a value of another type has no name."""
    if isinstance(given, Experiment | Environment | Text | Released):
        return given.name
    return given if isinstance(given, str) else kind


def parameter_problems(kind: type[BaseModel], given: object) -> list[Problem]:
    """A problem if what was given for an experiment or environment is nothing of the kind."""
    name = kind.__name__
    needed = f"a model {name}, or the name or path of its file as text"
    return type_problems(
        name.lower(),
        given,
        (kind, str, Text, Released),
        needed,
        f"write `{name}.model_validate({{…}})`, or the name as text",
    )


def type_problems(path: str, given: object, kinds: type | tuple[type, ...], needed: str, fix: str) -> list[Problem]:
    """A problem if a value from a Python program has none of these types. It is not shown: secrets may be in it."""
    if isinstance(given, kinds):
        return []
    return [Problem(path, None, f"the value is of the type {type(given).__name__}, and must be {needed}", fix)]
