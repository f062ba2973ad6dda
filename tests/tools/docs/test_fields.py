"""The pages of fields tell every field of both files."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tools.docs.fields import environment_page, experiment_page
from trainform.spec import Environment, Experiment
from trainform.spec.base_model import models_of

PAGES = {Experiment: experiment_page(), Environment: environment_page()}


@pytest.mark.parametrize("kind", PAGES)
def test_every_top_level_field_is_on_the_page(kind: type[BaseModel]) -> None:
    assert f"## {kind.__name__}\n" in PAGES[kind]
    for name in kind.model_fields:
        assert f"- **`{name}`**: " in PAGES[kind]


def test_keys_are_shown_as_users_write_them() -> None:
    assert "- **`class`**: " in PAGES[Experiment]


def test_a_field_links_to_its_parts() -> None:
    assert "[Cluster](#cluster)" in PAGES[Environment]
    assert "\n## Cluster\n" in PAGES[Environment]


def test_models_inside_annotations_are_found() -> None:
    roles = Experiment.model_fields["roles"].annotation
    assert [model.__name__ for model in models_of(roles)] == ["Role"]
