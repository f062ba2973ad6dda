"""What operators make of the experiment's fields: tables from which refusals, notes and a page of the documentation follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from trainform.errors import Problem
from trainform.spec.experiment import Experiment


@dataclasses.dataclass(frozen=True)
class Support:
    """How an operator does what a field asks for. `how`: in which words of its own. `fix`: not empty where it cannot, and the experiment is
    refused, since its meaning would be lost; `how` is the reason then. `noted`: it is told in the plan, since it may surprise."""

    how: str
    fix: str = ""
    noted: bool = False


def done_by(how: str) -> Support:
    """The operator's own words for it."""
    return Support(how)


def noted(how: str) -> Support:
    """Done, or left out, in a way that may surprise."""
    return Support(how, noted=True)


def refused(reason: str, fix: str) -> Support:
    """Not to be had."""
    return Support(reason, fix)


Fields = Mapping[str, Support]
"""By path of a field, `*` for any name on the way: `roles.*.policies`. A field that is not there is done as it is described."""


def support_problems(experiment: Experiment, fields: Fields) -> Iterator[Problem]:
    """What the experiment asks of the operator in vain."""
    for field, support in fields.items():
        if support.fix:
            for path, value in said(experiment, field):
                yield Problem(path, value if isinstance(value, str | int) else None, support.how, support.fix)


def support_notes(experiment: Experiment, fields: Fields) -> Iterator[str]:
    """What may surprise."""
    for field, support in fields.items():
        if support.noted:
            yield from (f"{path}: {support.how}" for path, _ in said(experiment, field))


def said(model: BaseModel, field: str) -> Iterator[tuple[str, Any]]:
    """Path and value of every place where the field has another value than its default."""
    yield from _said(model, field.split("."), "")


def _said(value: Any, parts: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if not parts:
        yield path, value
        return
    first, *rest = parts
    if isinstance(value, dict):
        for name in value if first == "*" else [first]:
            if name in value:
                yield from _said(value[name], rest, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _said(item, rest, f"{path}[{index}]")
    elif isinstance(value, BaseModel) and first in type(value).model_fields:
        given = getattr(value, first)
        default = type(value).model_fields[first].get_default(call_default_factory=True, validated_data={})
        if rest or given != default:
            yield from _said(given, rest, f"{path}.{first}" if path else first)
