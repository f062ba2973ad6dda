"""The flowchart: what GitHub draws, and that no name is more than a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT, Golden
from tests.review.jobs import LORA
from tests.review.picture.samples import EXPERIMENTS, any_picture, of_change
from tests.support.unseen import unseen
from tools.docs.picture import experiment_picture
from trainform.review.model import Picture
from trainform.review.picture import mermaid

GOLDEN = ROOT / "tests" / "review" / "picture" / "golden"
TEXT = r'"[^"`<>&;@:]*(?:#[0-9]+;[^"`<>&;@:]*)*"'
STATEMENT = re.compile(
    rf"flowchart LR|  subgraph [a-z]+\[{TEXT}\]|    n[0-9]+\[{TEXT}\]|  end|  n[0-9]+ (-->|==>|-\.->)(\|{TEXT}\|)? "
    r"n[0-9]+"
    r"|  classDef [a-z]+ [a-z0-9:#, -]+|  class n[0-9]+(,n[0-9]+)* [a-z]+"
)


def statements(text: str) -> list[str]:
    """The statements; a quoted text may have several lines."""
    found = re.findall(r'(?:[^"\n]|"[^"]*")+', text)
    assert "\n".join(found) == text
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_golden(name: str, golden: Golden) -> None:
    golden(GOLDEN / f"{name}.mmd", f"{mermaid.render(experiment_picture(name))}\n")


def test_golden_of_a_change(golden: Golden) -> None:
    picture = of_change(LORA, {**LORA, "queue": "night", "image": "registry.example.com/ai/pytorch-training:2.9"})
    golden(GOLDEN / "change.mmd", f"{mermaid.render(picture)}\n")


@given(any_picture())
def test_no_name_becomes_a_statement(picture: Picture) -> None:
    text = mermaid.render(picture)
    assert not unseen(text)
    for statement in statements(text):
        assert STATEMENT.fullmatch(statement), statement


@given(st.integers(0, 3))
def test_the_same_picture_has_the_same_bytes(place: int) -> None:
    name = EXPERIMENTS[place]
    assert mermaid.render(experiment_picture(name)) == mermaid.render(
        Picture.model_validate_json(experiment_picture(name).model_dump_json())
    )
