"""The figures show the code's own layers, and can be read."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from tools.contracts import layers as packages
from tools.docs.figures import layers, layers_figure, stack_figure
from tools.docs.svg import LETTER, STYLE

SVG = "{http://www.w3.org/2000/svg}"
figures = pytest.mark.parametrize("made", [layers_figure, stack_figure])


def rectangles(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every box; frames around others are left out."""
    found = [one.attrib for one in root.iter(f"{SVG}rect") if one.get("class") not in ("paper", "group")]
    sizes = [[float(one[name]) for name in ("x", "y", "width", "height")] for one in found]
    return [(x, y, x + width, y + height) for x, y, width, height in sizes]


def test_every_package_is_shown() -> None:
    assert all(layers().values())
    shown = {line.text for line in ET.fromstring(layers_figure()).iter(f"{SVG}text")}  # noqa: S314 - our own
    assert set(packages()) <= shown


@figures
def test_boxes_are_inside_and_apart(made: Callable[[], str]) -> None:
    root = ET.fromstring(made())  # noqa: S314 - our own
    boxes = rectangles(root)
    assert len(boxes) > 5
    assert all(x >= 0 and y >= 0 for x, y, _, _ in boxes)
    assert max(right for _, _, right, _ in boxes) < float(root.attrib["width"])
    assert max(bottom for _, _, _, bottom in boxes) < float(root.attrib["height"])
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@figures
def test_text_is_inside(made: Callable[[], str]) -> None:
    root = ET.fromstring(made())  # noqa: S314 - our own
    for line in root.iter(f"{SVG}text"):
        assert line.text is not None
        half = len(line.text) * LETTER / 2 if line.attrib["text-anchor"] == "middle" else 0.0
        assert float(line.attrib["x"]) - half >= 0
        assert float(line.attrib["x"]) + half <= float(root.attrib["width"])
        assert 10 < float(line.attrib["y"]) < float(root.attrib["height"])


def test_every_colour_has_one_for_the_dark() -> None:
    light, _, dark = STYLE.partition("@media")
    coloured = {rule[0] for rule in re.findall(r"^([.\w]+) \{([^}]*#[0-9a-f]{6}[^}]*)\}", light, re.MULTILINE)}
    assert coloured
    assert all(re.search(rf"^{re.escape(name)} \{{[^}}]*#", dark, re.MULTILINE) for name in coloured)
