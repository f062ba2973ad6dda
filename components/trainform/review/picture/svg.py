"""The picture as SVG: queue and job, roles, and claims in three columns, with lines between them.

It has no script and no link, its style is that of the page, and each mark has a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from trainform.escaping import display_width, escaped
from trainform.review.forms.document import short_image
from trainform.review.picture.parts import Mark, Picture, PictureFact, PictureNode

LETTER, LINE, PADDING = 7.4, 18, 11  # of text of 12 pixels in which all letters are equally wide
EDGE, GAP, ROOM = 2, 16, 56  # around the picture, between boxes, between columns
NARROWEST = 20  # letters of a line
LEGIBLE = 560  # pixels, below which a picture is not made smaller
LONGEST = 80  # characters of a text that are shown
COLUMNS = (("queue", "job"), ("role",), ("claim",))
WORDS: dict[Mark, str] = {
    "same": "exists already",
    "added": "new",
    "removed": "removed",
    "changed": "changes",
    "restarted": "starts again",
}
Line = Sequence[tuple[str, str]]
"""Texts that follow each other, each with its class."""


class Box(Struct, eq=False):
    """A part with its lines and its place."""

    node: PictureNode
    lines: Sequence[Line]
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        """Its height, which follows from its lines."""
        return len(self.lines) * LINE + 2 * PADDING - 4


def element(picture: Picture) -> str:
    """Return the picture as an element of the page."""
    boxes = {box.node.id: box for box in _boxes(picture)}
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + EDGE
    height = max((box.y + box.height for box in boxes.values()), default=0.0) + EDGE
    return "\n".join([
        f'<svg class="tf" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'style="min-width: {min(width, LEGIBLE):g}px" role="group" '
        f'aria-label="Picture of the job {escape(_whole(picture.job))}">',
        *(_arrow(boxes[edge.start], boxes[edge.end], edge.change)
            for edge in sorted(picture.edges, key=lambda edge: edge.change != "same")),
        *map(_draw, boxes.values()),
        "</svg>",
    ])  # fmt: skip


def _boxes(picture: Picture) -> Iterator[Box]:
    x: float = EDGE
    for kinds in COLUMNS:
        nodes = [(node, [*_lines(picture, node)]) for kind in kinds for node in picture.nodes if node.kind == kind]
        letters = [sum(display_width(text) for _, text in line) for _, lines in nodes for line in lines]
        width = max([*letters, NARROWEST]) * LETTER + 2 * PADDING
        y: float = EDGE
        for node, lines in nodes:
            box = Box(node, lines, x, y, width)
            yield box
            y += box.height + GAP
        x += width + ROOM if nodes else 0


def _lines(picture: Picture, node: PictureNode) -> Iterator[Line]:
    """The lines of a box: kind and mark, name, facts, and where a claim is mounted."""
    yield [("q", f"{node.kind.capitalize()}  "), (node.change, WORDS[node.change])]
    yield [("h", _whole(node.name))]
    for fact in node.facts:
        first, *others = _sides(fact, node.change)
        together = [first, *others] if len(first + "".join(others)) < NARROWEST else [first]
        yield [("q", f"{_whole(fact.label)} "), ("h" if others else "", " → ".join(together))]
        yield from ([("q", "→ "), ("h", other)] for other in others if other not in together)
    for mount in dict.fromkeys(edge.label for edge in picture.edges if edge.end == node.id and edge.label):
        yield [("q", "at "), ("", _whole(mount))]


def _sides(fact: PictureFact, mark: Mark) -> list[str]:
    """The fact before and after, once where it stays."""
    given = [fact.before, fact.after] if mark in ("changed", "restarted") else [fact.after or fact.before]
    sides = [*dict.fromkeys("none" if side is None else side for side in given)]
    short = [*map(short_image, sides)] if fact.label == "image" else sides
    return [*map(_whole, short if len({*short}) == len(sides) else sides)]


def _whole(text: str) -> str:
    """The text on one line, with an end: a preview may hold names of any length."""
    text = escaped(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _draw(box: Box) -> str:
    place = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    rows = [f'<rect class="{box.node.change}" {place} rx="6"/>']
    for number, line in enumerate(box.lines):
        spans = "".join(f'<tspan class="{kind}">{escape(text)}</tspan>' for kind, text in line)
        rows.append(f'<text x="{box.x + PADDING:g}" y="{box.y + PADDING + 10 + number * LINE:g}">{spans}</text>')
    return "\n".join(rows)


def _arrow(start: Box, end: Box, mark: Mark) -> str:
    """A line down from a queue to the job, else from the right of a box to the left of another."""
    if start.x == end.x:
        return f'<path class="{mark}" d="M{start.x + 24:g} {start.y + start.height:g}V{end.y:g}"/>'
    left, right = start.x + start.width, end.x
    begin, goal, bend = start.y + start.height / 2, end.y + end.height / 2, (left + right) / 2
    return f'<path class="{mark}" d="M{left:g} {begin:g}C{bend:g} {begin:g} {bend:g} {goal:g} {right:g} {goal:g}"/>'
