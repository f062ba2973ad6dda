"""docs/fields.md is current, and tells every field of both files."""

from __future__ import annotations

from pathlib import Path

from trainform.spec import Environment, Experiment
from trainform.spec.model import models_of
from trainform.spec.reference import fields_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fields.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == fields_page(), "run `make golden`"


def test_every_top_level_field_is_told() -> None:
    page = fields_page()
    for model in (Experiment, Environment):
        assert f"### {model.__name__}\n" in page
        for name in model.model_fields:
            assert f"| `{name}` |" in page


def test_a_key_is_told_as_the_user_writes_it() -> None:
    assert "| `class` |" in fields_page()


def test_models_inside_annotations_are_found() -> None:
    roles = Experiment.model_fields["roles"].annotation
    assert [model.__name__ for model in models_of(roles)] == ["Role"]
