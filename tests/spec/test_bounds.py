"""Whole numbers have bounds: the objects of a cluster have 32 bits for them."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

LARGEST = 2**31 - 1


def numbers(kind: Any, path: str, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The path of each whole number in a model, with what is said of it."""
    if kind is int:
        yield path, metadata
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield from numbers(field.annotation, f"{path}.{name}", tuple(field.metadata))
    elif typing.get_origin(kind) is typing.Annotated:
        inner, *more = typing.get_args(kind)
        said = [each for item in more for each in (item.metadata if isinstance(item, FieldInfo) else [item])]
        yield from numbers(inner, path, (*metadata, *said))
    else:
        for part in typing.get_args(kind):
            yield from numbers(part, path, metadata)


def test_every_whole_number_has_an_upper_bound() -> None:
    found = [*numbers(Experiment, "experiment"), *numbers(Environment, "environment")]
    assert len(found) > 30
    for path, metadata in found:
        most = [item.le for item in metadata if isinstance(item, annotated_types.Le)]
        assert most and most[0] <= LARGEST, path
