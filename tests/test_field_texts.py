"""Every field of both files has a text that says what it means and what a change does."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainform.spec import Environment, Experiment

# What a change does: to the object in place, to the revision, to the object as a whole, or to none.
CHANGE = re.compile(
    r"[Uu]pdates? (in place|the claim in place)|makes? (a )?new (revision|object|job|queue)|replaces (it|the claim|claims|every object)"
    r"|Changes no object|leaves the claim|between update and revision"
)  # fmt: skip


def models(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        below = {model for field in annotation.model_fields.values() for model in models(field.annotation)}
        return {annotation} | below
    return {model for argument in get_args(annotation) for model in models(argument)}


MODELS = sorted(models(Experiment) | models(Environment), key=lambda model: model.__name__)
FIELDS = [
    pytest.param(field, id=f"{model.__name__}.{name}") for model in MODELS for name, field in model.model_fields.items()
]


def is_section(field: FieldInfo) -> bool:
    """A field that holds other models: what a change does, each field below says."""
    return bool(models(field.annotation))


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_has_a_text(field: FieldInfo) -> None:
    assert field.description
    assert (
        field.description[0].isupper()
        or field.description[0] in "`0123456789"
        or field.description.startswith(("hard:",))
    )
    assert field.description.endswith("."), "whole sentences"


@pytest.mark.parametrize("field", [param for param in FIELDS if not is_section(param.values[0])])  # type: ignore[arg-type]
def test_every_field_says_what_a_change_does(field: FieldInfo) -> None:
    assert field.description is not None
    assert CHANGE.search(field.description), field.description


@pytest.mark.parametrize("field", FIELDS)
def test_optional_fields_say_their_default(field: FieldInfo) -> None:
    assert field.description is not None
    if not field.is_required():
        assert re.search(r"[Dd]efault|Empty|By default|Exactly one|Start|From a|The same by", field.description), (
            field.description
        )


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_text(model: type[BaseModel]) -> None:
    assert model.__doc__
