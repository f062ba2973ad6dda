"""The picture as SVG: well-formed, nothing outside, nothing over each other, nothing loaded."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from tests.review.jobs import LORA
from tests.review.picture.samples import LONG, of_change
from tests.support.unseen import unseen
from trainform.escaping import display_width
from trainform.review.picture import svg

TAGS = {"svg", "rect", "path", "text", "tspan"}
ATTRIBUTES = {"class", "viewBox", "width", "height", "role", "style", "aria-label", "x", "y", "rx", "d"}
CHANGES = {
    "replaced": ({**LORA}, {**LORA, "image": LONG}),
    "moved": ({**LORA}, {**LORA, "queue": "night", "roles": {"worker": {"replicas": 2, "accelerators": {"l40s": 4}}}}),
    "new": (None, LORA),
    "removed": (LORA, None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_boxes_lie_next_to_each_other_with_their_lines_in_them(name: str) -> None:
    root = ET.fromstring(svg.element(of_change(*CHANGES[name])))  # noqa: S314 - our own
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    assert {part.tag for part in root.iter()} <= TAGS
    assert {name for part in root.iter() for name in part.attrib} <= ATTRIBUTES
    boxes = [tuple(float(box.attrib[name]) for name in ("x", "y", "width", "height")) for box in root.iter("rect")]
    for x, y, wide, high in boxes:
        assert 0 <= x < x + wide <= width
        assert 0 <= y < y + high <= height
    for one, other in itertools.combinations(boxes, 2):
        apart = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        assert apart or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
    for line in root.iter("text"):
        left, low = float(line.attrib["x"]), float(line.attrib["y"])
        right = left + display_width("".join(line.itertext())) * 7.3
        assert any(x < left and right < x + wide and y < low - 9 and low < y + high for x, y, wide, high in boxes)
    assert not unseen("".join(root.itertext()))


def test_every_mark_has_a_word() -> None:
    shown = texts("moved")
    assert {"Job  starts again", "Queue  exists already", "pods 4 → 2"} <= {*shown}
    assert "Claim  exists already" in shown


def test_an_image_has_its_name_and_tag() -> None:
    assert "→ trainer:2026.11" in texts("replaced")


def texts(name: str) -> list[str]:
    root = ET.fromstring(svg.element(of_change(*CHANGES[name])))  # noqa: S314 - our own
    return ["".join(line.itertext()) for line in root.iter("text")]
