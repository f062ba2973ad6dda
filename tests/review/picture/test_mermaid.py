"""The flowchart: what GitHub draws, and that no name is more than a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT, Golden
from tests.review.jobs import LORA
from tests.review.picture.samples import EXPERIMENTS, KINDS, NAMES, any_picture, of_change, of_roles
from tests.support.unseen import unseen
from tools.docs.picture import experiment_picture
from trainform.review.model import Picture, PictureEdge, PictureNode
from trainform.review.picture import mermaid

GOLDEN = ROOT / "tests" / "review" / "picture" / "golden"
# Every statement that there may be: parts in groups, lines, and colours.
FACTS = ["pods", "image", "CPU", "memory", "network", "ports", "ranks", "replaced", "changes"]
TEXT = r'"[^"`<>&;@:]*(?:#[0-9]+;[^"`<>&;@:]*)*"'
STATEMENT = re.compile(
    rf"flowchart LR|  subgraph [a-z]+\[{TEXT}\]|    n[0-9]+\[{TEXT}\]|  end|  n[0-9]+ (-->|==>|-\.->)(\|{TEXT}\|)? n[0-9]+"
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


@given(NAMES)
def test_a_text_can_be_read_back(name: str) -> None:
    from trainform.review.picture.words import cut

    shown = re.sub(r"#([0-9]+);", lambda found: chr(int(found.group(1))), mermaid.text(name))
    assert shown == cut(name, mermaid.LONGEST)


@pytest.mark.parametrize("name", ['a"b', "[x]", "end", "a#b", "click n0 href", "%%{init}%%", "a;b", "`a`", "<b>", "style:x#y;", "@x", "https://a", "fa:fa-bug"])  # fmt: skip
def test_names_with_a_meaning(name: str) -> None:
    shown = mermaid.text(name)
    assert re.fullmatch(r"(?:[a-zA-Z0-9 .,/()-]|#[0-9]+;)*", shown)
    assert "//" not in shown


def test_what_all_roles_use_is_one_line() -> None:
    lines = [line for line in mermaid.render(of_roles(4)).split("\n") if "mnt" in line]
    assert lines == ['  n0 ==>|"all roles /mnt/output"| n8']


@pytest.mark.parametrize("number", [1, 12, 13, 64])
def test_many_roles_stay_readable(number: int) -> None:
    text = mermaid.render(of_roles(number))
    assert text.count('["Role ') == min(number, 13)
    assert len(text) < 10_000
    assert (f"and {number - 12} more" in text) == (number > 12)


@pytest.mark.parametrize("letter", ["a", '"', "東"])
def test_the_largest_picture_is_within_the_limits_of_mermaid(letter: str) -> None:
    """Its defaults, which only the site can change: beyond them GitHub shows an error in the place of the picture."""
    names = [f"registry.example.com/{place:02}/" + letter * 400 for place in range(64)]
    nodes = [
        PictureNode.model_validate({
            "id": f"{kind}/{name}", "kind": kind, "name": name, "change": "changed",
            "facts": [{"label": label, "before": name, "after": f"{name}2"} for label in FACTS],
        })
        for kind in KINDS for name in names
    ]  # fmt: skip
    edges = [
        PictureEdge(start=f"role/{role}", end=f"{kind}/{name}", label=f"/mnt/{role}/{name}", change="added")
        for role in names for kind in ("claim", "secret", "shape") for name in names[:16]
    ]  # fmt: skip
    text = mermaid.render(Picture(job="sdxl-lora", nodes=nodes, edges=edges))
    assert len(text) < 50_000
    assert text.count('["Role ') > 1
    assert all(STATEMENT.fullmatch(statement) for statement in statements(text))
    assert sum(bool(re.match(r"  n[0-9]+ [-=]", line)) for line in text.split("\n")) < 500


@given(st.integers(0, 3))
def test_the_same_picture_has_the_same_bytes(place: int) -> None:
    name = EXPERIMENTS[place]
    assert mermaid.render(experiment_picture(name)) == mermaid.render(
        Picture.model_validate_json(experiment_picture(name).model_dump_json())
    )
