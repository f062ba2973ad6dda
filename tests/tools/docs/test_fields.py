"""The pages of fields have every field of both files."""

from __future__ import annotations

import re

import pytest
from pydantic import BaseModel

from tools.docs.fields import CHANGES, environment_page, experiment_page
from trainform.spec.base_model import OnChange
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.places import models_of

PAGES = {"fields.md": experiment_page(), "environment.md": environment_page()}
ROW = re.compile(r"\| `(.*?)` \| (.*) \| (.*) \| (.*) \| (.*) \|")


def table(page: str, heading: str) -> dict[str, tuple[str, ...]]:
    """Return the cells of a section's table by field."""
    (section,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    return {row[0]: row[1:] for row in ROW.findall(section)}


def assert_fields(model: type[BaseModel], page: str, heading: str, path: str) -> None:
    """Every field of the model is in a table: in that of the heading, or in one to which its row links."""
    for name, field in model.model_fields.items():
        where = f"{path}{name if field.alias is None else field.alias}"
        shown = table(page, heading).get(where)
        if shown is None:
            base = next(base for base in model.__bases__ if issubclass(base, BaseModel))
            assert name in base.model_fields, (page, heading, where)
            shown = table("fields.md", base.__name__)[where.removeprefix(path)]
        assert shown[1], where
        assert (shown[1] == "required") == field.is_required(), where
        for below in models_of(field.annotation):
            link = re.search(rf"\[{below.__name__}\]\(([a-z.]*)#{below.__name__.lower()}\)", shown[0])
            if link is not None:
                assert_fields(below, link[1] if link[1] else page, below.__name__, "")
            else:
                inside = {"list": "[].", "map": ".NAME."}.get(shown[0].split()[-1], ".")
                assert_fields(below, page, heading, f"{where}{inside}")


@pytest.mark.parametrize(("kind", "page"), [(Experiment, "fields.md"), (Environment, "environment.md")])
def test_every_field_is_on_the_page(kind: type[BaseModel], page: str) -> None:
    assert_fields(kind, page, kind.__name__, "")


def test_a_row_has_type_default_meaning_and_change() -> None:
    experiment, launcher = table("fields.md", "Experiment"), table("fields.md", "Launcher")
    assert experiment["ttl"][:2] == ("duration (`12h`)", "never")
    assert experiment["ttl"][3] == "by backend"
    assert experiment["ssh.port"][3] == ""
    assert experiment["env"][0] == "text or [EnvSource](#envsource) map"
    assert launcher["accelerate.rdzv_backend"][:2] == ("`static`, `c10d`", "`static`")
    assert table("fields.md", "Role")["accelerators"][0] == "integer map (`{a800: 8}`)"
    assert table("environment.md", "Environment")["claims.NAME.size"][3] == "grows"


def test_every_word_of_a_change_is_explained() -> None:
    assert set(CHANGES) == set(OnChange)
    for page, text in PAGES.items():
        legend = set(re.findall(r"^\| `(.*?)` \| [^|]* \|$", text, re.MULTILINE))
        used = {row[-1] for row in ROW.findall(text)}
        assert used - {"", "by field"} == legend, page


def test_pages_that_a_description_names_are_linked() -> None:
    assert "([backends](backends.md))" in table("fields.md", "Experiment")["runtime"][2]
    assert "([failure](../explanation/failure.md))" in table("fields.md", "Experiment")["restart"][2]
