"""The picture as SVG: well-formed, nothing outside, nothing over each other, nothing loaded."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given

from tests.conftest import ROOT, Golden
from tests.review.jobs import LORA
from tests.review.picture.samples import EXPERIMENTS, LONG, any_picture, of_change, of_roles
from tests.support.unseen import unseen
from tools.docs.picture import experiment_picture
from trainform.escaping import display_width
from trainform.review.model import Picture
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


@given(any_picture())
def test_any_picture(picture: Picture) -> None:
    check(svg.render(picture))


@pytest.mark.parametrize(("roles", "replicas"), [(1, 4), (1, 1024), (4, 256), (64, 16), (64, 1)])
def test_the_size_grows_with_roles_alone(roles: int, replicas: int) -> None:
    text = svg.render(of_roles(roles, replicas))
    assert len(text.encode()) < (200_000 if roles == 64 else 20_000)
    assert len([part for part in check(text).iter(f"{NS}rect") if part.get("rx") == "6"]) <= roles + 8


def test_a_long_name_is_cut_and_told_whole() -> None:
    root = check(svg.render(of_change({**LORA, "image": LONG}, {**LORA, "image": LONG})))
    [whole] = [part.text for part in root.iter(f"{NS}title") if part.text and LONG in part.text]
    assert whole == LONG
    shown = ["".join(part.text or "" for part in line.iter(f"{NS}tspan")) for line in root.iter(f"{NS}text")]
    assert any(words.startswith("image reg") and words.endswith("trainer:2026.11") for words in shown)


def test_a_change_is_told_without_colours() -> None:
    root = check(svg.render(of_change(*CHANGES["moved"])))
    shown = ["".join(part.text or "" for part in line.iter(f"{NS}tspan")) for line in root.iter(f"{NS}text")]
    assert {"+ night", "- default", "~ worker", "~ pods 4 → 2"} <= {*shown}


def test_every_colour_has_one_for_the_dark() -> None:
    light, _, dark = svg.STYLE.partition("@media")
    names = re.findall(r"(--tf-[a-z-]+): #", light)
    assert names
    assert names == re.findall(r"(--tf-[a-z-]+): #", dark)
    used = set(re.findall(r"var\((--tf-[a-z-]+)\)", svg.STYLE))
    assert used == {*names}


AA = 4.5
"""The least contrast of a text of usual size (WCAG 2, 1.4.3). axe-core judges no text of SVG."""
SCHEMES = dict(zip(("light", "dark"), svg.STYLE.split("@media (prefers-color-scheme: dark)"), strict=True))


def luminance(colour: str) -> float:
    """As WCAG 2 defines it, of a colour such as #1f2328."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def fills(selectors: str) -> set[str]:
    """The names of the colours with which the parts are filled that these selectors choose."""
    found = {
        match[2]
        for match in re.finditer(r"^\.tf (\S+) {.*?fill: var\((--tf-[a-z-]+)\)", svg.STYLE, re.M)
        if re.fullmatch(selectors, match[1])
    }
    assert found
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_can_be_read_on_every_box(scheme: str) -> None:
    colours = dict(re.findall(r"(--tf-[a-z-]+): (#[0-9a-f]{6})", SCHEMES[scheme]))
    inks, grounds = fills(r"text|\.q"), fills(r"\.(paper|same|added|removed|changed)")
    assert (len(inks), len(grounds)) == (2, 5)
    ratios = {(ink, ground): contrast(colours[ink], colours[ground]) for ink in inks for ground in grounds}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < AA} == {}


def test_the_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") > AA > contrast("#777777", "#ffffff")


def test_nothing_comes_from_elsewhere() -> None:
    text = svg.render(of_change(*CHANGES["moved"]))
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in text
    assert "@import" not in text
