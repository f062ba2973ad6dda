"""Every field of both files has a text that says what it means, what its default is and what a change does."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainform.spec.base_model import OnChange, field_text, on_change
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def models(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        below = {model for field in annotation.model_fields.values() for model in models(field.annotation)}
        return {annotation} | below
    return {model for argument in get_args(annotation) for model in models(argument)}


MODELS = sorted(models(Experiment) | models(Environment), key=lambda model: model.__name__)
FIELDS = [(model, name, field) for model in MODELS for name, field in model.model_fields.items()]


def one_of_several(model: type[BaseModel]) -> bool:
    """Whether exactly one of the model's fields is written, so that each is empty where another one stands."""
    return "oneOf" in model.model_config.get("json_schema_extra", {})  # type: ignore[operator]


def test_every_field_has_a_text() -> None:
    for model, name, field in FIELDS:
        meaning = field.description
        assert meaning, (model, name)
        assert meaning[0].isupper() or meaning[0] in "`0123456789" or meaning.startswith("hard:"), meaning
        assert meaning.endswith("."), f"whole sentences: {meaning}"


def test_every_field_says_what_a_change_does() -> None:
    """A section leaves it to its fields. That it is true, `tests/job/test_on_change.py` proves."""
    for model, name, field in FIELDS:
        if not models(field.annotation):
            assert on_change(field) is not OnChange.BY_PART, (model, name)
        assert field_text(field).endswith(on_change(field).value), (model, name)


def test_optional_fields_say_their_default() -> None:
    """The value of a default is generated, and stands nowhere else; what an empty field means is a part of the
    meaning."""
    for model, _, field in FIELDS:
        text = field_text(field)
        assert len(re.findall("Default: |Empty: ", text)) <= 1, text
        if field.is_required():
            assert "Default: " not in text
        elif field.get_default() is None:
            assert "Empty: " in text or one_of_several(model), text
        else:
            assert re.search("Default: .|Empty: .", text), text


def test_the_schema_has_the_same_text() -> None:
    for model in MODELS:
        schema = model.model_json_schema()
        properties = schema.get("properties", schema.get("$defs", {}).get(model.__name__, {}).get("properties"))
        for name, field in model.model_fields.items():
            assert properties[name if field.alias is None else field.alias]["description"] == field_text(field)


def test_every_model_has_a_text() -> None:
    assert [model for model in MODELS if not model.__doc__] == []


def test_a_field_without_the_answer_is_refused() -> None:
    with pytest.raises(TypeError, match="the field has no OnChange: How many"):
        on_change(FieldInfo(description="How many."))


@pytest.mark.parametrize(
    ("meaning", "default", "sentence"),
    [
        ("How many.", 3, "Default: `3`."),
        ("Whether.", False, "Default: `false`."),
        ("Words.", ["a", "b"], "Default: `a`, `b`."),
        ("Words.", [], "Default: none."),
        ("Words. Empty: all.", [], ""),
        ("Name. Empty: the environment's.", None, ""),
        ("Which cluster.", Environment.model_fields["cluster"].get_default(), ""),
    ],
)
def test_the_sentence_of_a_default(meaning: str, default: Any, sentence: str) -> None:
    field = FieldInfo(default=default, description=meaning, json_schema_extra=OnChange.NO_OBJECT)
    assert field_text(field) == " ".join(
        text for text in (meaning, sentence, "A change leaves what runs as it is.") if text
    )
