"""What a program adds to an environment: queues and claims of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from trainform.errors import InputError, Problem
from trainform.rules.environment import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.given import type_problems
from trainform.spec.load import parse
from trainform.spec.queues import QueueRequest
from trainform.spec.storage import ClaimRequest

# What a program may add to an environment: the field, and the model of its values.
OWN: dict[str, type[BaseModel]] = {"queues": QueueRequest, "claims": ClaimRequest}


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
