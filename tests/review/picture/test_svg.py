"""The picture as SVG: well-formed, nothing outside, nothing over each other, nothing loaded."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from tests.conftest import ROOT, Golden
from tests.review.jobs import LORA
from tests.review.picture.samples import EXPERIMENTS, LONG, of_change
from tests.support.unseen import unseen
from tools.docs.picture import experiment_picture
from trainform.escaping import display_width
from trainform.review.picture import svg

GOLDEN = ROOT / "tests" / "review" / "picture" / "golden"
NS = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "rect", "path", "text", "tspan"}
ATTRIBUTES = {
    "class",
    "viewBox",
    "width",
    "height",
    "role",
    "aria-labelledby",
    "aria-describedby",
    "id",
    "x",
    "y",
    "rx",
    "d",
}
CHANGES = {
    "replaced": ({**LORA}, {**LORA, "image": LONG}),
    "moved": ({**LORA}, {**LORA, "queue": "night", "roles": {"worker": {"replicas": 2, "accelerators": {"l40s": 4}}}}),
    "new": (None, LORA),
    "gone": (LORA, None),
}


def check(text: str) -> ET.Element:
    """What holds for every picture."""
    root = ET.fromstring(text)  # noqa: S314 - our own
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    assert {part.tag.removeprefix(NS) for part in root.iter()} <= TAGS
    assert {name for part in root.iter() for name in part.attrib} <= ATTRIBUTES
    named = [part.attrib["id"] for part in root.iter() if "id" in part.attrib]
    assert [root.attrib["aria-labelledby"], root.attrib["aria-describedby"]] == named
    boxes = [part for part in root.iter(f"{NS}rect") if part.get("rx") == "6"]
    places = [tuple(float(box.attrib[name]) for name in ("x", "y", "width", "height")) for box in boxes]
    for x, y, wide, high in places:
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
    for one, other in itertools.combinations(places, 2):
        apart = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        assert apart or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
    for line in root.iter(f"{NS}text"):
        check_line(line, places, width, height)
    assert not unseen("".join(root.itertext()))
    return root


def check_line(line: ET.Element, boxes: list[tuple[float, ...]], width: float, height: float) -> None:
    """A line is in the picture, and in its box or in none."""
    words = "".join(part.text or "" for part in line.iter(f"{NS}tspan"))
    left, low = float(line.attrib["x"]), float(line.attrib["y"])
    right = left + display_width(words) * 7.3
    assert 10 <= low <= height
    assert right <= width
    inside = [
        box
        for box in boxes
        if box[0] < right and left < box[0] + box[2] and box[1] < low and low - 12 < box[1] + box[3]
    ]
    assert len(inside) <= 1
    for x, y, wide, high in inside:
        assert x < left
        assert right < x + wide
        assert y < low - 9
        assert low + 3 < y + high


@pytest.mark.parametrize("name", ["extras", "llama-sft", "sdxl-lora"])
def test_golden(name: str, golden: Golden) -> None:
    golden(GOLDEN / f"{name}.svg", svg.render(experiment_picture(name)))


def test_golden_of_a_change(golden: Golden) -> None:
    golden(GOLDEN / "change.svg", svg.render(of_change(*CHANGES["moved"])))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str) -> None:
    root = check(svg.render(experiment_picture(name)))
    text = "".join(root.itertext())
    assert f"Picture of the job {name}" in text
    assert "unchanged" in text


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name: str) -> None:
    check(svg.render(of_change(*CHANGES[name])))


def test_a_change_is_told_without_colours() -> None:
    root = check(svg.render(of_change(*CHANGES["moved"])))
    shown = ["".join(part.text or "" for part in line.iter(f"{NS}tspan")) for line in root.iter(f"{NS}text")]
    assert {"+ night", "- default", "~ worker", "~ pods 4 → 2"} <= {*shown}
