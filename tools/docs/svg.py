"""Figures from text: boxes in rows and columns, arrows between them, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct

LETTER, LINE, PADDING = 8, 18, 11  # of text of 13 pixels: the width of most letters, from line to line, around it
STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.strong { font-weight: 600 }
.quiet { fill: #57606a }
.paper { fill: #ffffff }
.box { fill: #f6f8fa; stroke: #8c959f }
.main { fill: #ddf4ff; stroke: #0969da }
.pod { fill: #dafbe1; stroke: #1a7f37 }
.group { fill: none; stroke: #8c959f; stroke-dasharray: 4 4 }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.5 }
.head { fill: #57606a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.quiet { fill: #9198a1 }
.paper { fill: #0d1117 }
.box { fill: #161b22; stroke: #6e7681 }
.main { fill: #0c2d6b; stroke: #58a6ff }
.pod { fill: #04260f; stroke: #3fb950 }
.group { stroke: #6e7681 }
.arrow { stroke: #9198a1 }
.head { fill: #9198a1 }
}"""


class Box(Struct, frozen=True):
    """A box with lines of text, the first of them strong. `kind` is a class of STYLE."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    kind: str = "box"

    @property
    def middle(self) -> float:
        """Half of its height, from above."""
        return self.y + self.height / 2

    def draw(self) -> str:
        """Return the box, its text in the middle."""
        first = self.middle - (len(self.lines) - 1) * LINE / 2 + 4.5
        texts = (
            text(self.x + self.width / 2, first + LINE * number, line, "strong" if number == 0 else "quiet")
            for number, line in enumerate(self.lines)
        )
        return "\n".join([rectangle(self.x, self.y, self.width, self.height, self.kind), *texts])


def width_of(lines: Iterable[str]) -> float:
    """Return the width of a box with these lines."""
    return max(map(len, lines)) * LETTER + 2 * PADDING


def height_of(lines: Sequence[str]) -> float:
    """Return the height of a box with these lines."""
    return len(lines) * LINE + 1.3 * PADDING


def column(x: float, middle: float, texts: Sequence[Sequence[str]], kind: str = "box", gap: float = 14) -> list[Box]:
    """Boxes of one width below each other, around a height."""
    width = max(map(width_of, texts))
    y = middle - (sum(map(height_of, texts)) + gap * (len(texts) - 1)) / 2
    boxes = []
    for lines in texts:
        boxes.append(Box(x, y, width, height_of(lines), tuple(lines), kind))
        y += height_of(lines) + gap
    return boxes


def row(x: float, y: float, names: Sequence[str], width: float, kind: str = "box", gap: float = 8) -> list[Box]:
    """Return a row of boxes with a name each, which fills a width."""
    spare = (width - sum(width_of([name]) for name in names) - gap * (len(names) - 1)) / len(names)
    boxes = []
    for name in names:
        boxes.append(Box(x, y, width_of([name]) + spare, height_of([name]), (name,), kind))
        x += boxes[-1].width + gap
    return boxes


def around(boxes: Sequence[Box], margin: float = 12) -> Box:
    """Return a dashed frame around boxes."""
    x, y = min(box.x for box in boxes) - margin, min(box.y for box in boxes) - margin
    right, bottom = max(box.x + box.width for box in boxes) + margin, max(box.y + box.height for box in boxes) + margin
    return Box(x, y, right - x, bottom - y, (), "group")


def title_of(frame: Box, words: str) -> str:
    """Return a line of text above a frame."""
    return text(frame.x + frame.width / 2, frame.y - 8, words, "quiet")


def arrow(start: Box, end: Box, labels: Sequence[str] = ()) -> str:
    """From the right side of a box to the left side of another, with lines of text around its middle."""
    x, far = start.x + start.width + 2, end.x - 8
    bend = (x + far) / 2
    path = f"M{x:g} {start.middle:g} C{bend:g} {start.middle:g} {bend:g} {end.middle:g} {far:g} {end.middle:g}"
    head = f"M{far:g} {end.middle - 4:g} l7 4 l-7 4 z"
    above = (start.middle + end.middle) / 2 - 8 - LINE * (len(labels) - 1)
    said = (text(bend, above + LINE * number, label, "quiet") for number, label in enumerate(labels))
    return "\n".join([f'<path class="arrow" d="{path}"/>', f'<path class="head" d="{head}"/>', *said])


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a rectangle with round corners."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """Return a line of text around `x`; with `anchor="start"` it begins there."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def figure(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return the file."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="paper" width="{width:g}" height="{height:g}" rx="6"/>',
            *parts,
            "</svg>\n",
        ]
    )
