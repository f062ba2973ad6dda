"""The picture as SVG: queue, job, roles and the shapes of their nodes in columns, below them where the processes meet,
claims and secrets.

It has no script, no link and nothing from elsewhere. Its colours follow the reader's system, and no mark is told by its
colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct

from trainform.escaping import display_width
from trainform.review.model import Mark, Picture, PictureFact, PictureNode
from trainform.review.picture.words import (
    KINDS,
    LEGEND,
    SIGNS,
    cut,
    described,
    plain,
    title,
    used_by,
    users,
    whole,
)

LETTER, LINE, PADDING = 7.4, 17, 10  # of text of 12 pixels in which all letters are equally wide
EDGE, GAP, ROOM = 20, 12, 52  # around the picture, between boxes, between columns
HEADING = 24
LANES, LANE = 6, 6  # beside each other, between roles and shapes
ABOVE: Mapping[str, int] = {"queue": 26, "job": 36, "role": 52, "shape": 30}
BELOW: Mapping[str, int] = {"rendezvous": 48, "claim": 48, "secret": 44}
"""The columns, each with the most letters of a line in it."""
NARROWEST = 12
INDENT = "  "

STYLE = """\
.tf { --tf-ink: #1f2328; --tf-quiet: #59636e; --tf-paper: #ffffff; --tf-box: #f6f8fa; --tf-line: #59636e; --tf-added: \
#1a7f37;
--tf-added-box: #dafbe1; --tf-removed: #cf222e; --tf-removed-box: #ffebe9; --tf-changed: #9a6700; --tf-changed-box: \
#fff8c5 }
@media (prefers-color-scheme: dark) {
.tf { --tf-ink: #e6edf3; --tf-quiet: #9198a1; --tf-paper: #0d1117; --tf-box: #161b22; --tf-line: #9198a1; --tf-added: \
#3fb950;
--tf-added-box: #04260f; --tf-removed: #f85149; --tf-removed-box: #3c0d10; --tf-changed: #d29922; --tf-changed-box: \
#2e2206 }
}
.tf text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: \
var(--tf-ink); white-space: pre }
.tf .h { font-weight: 600 }
.tf .q { fill: var(--tf-quiet) }
.tf .paper { fill: var(--tf-paper) }
.tf rect { stroke-width: 1 }
.tf .same { fill: var(--tf-box); stroke: var(--tf-line) }
.tf .added { fill: var(--tf-added-box); stroke: var(--tf-added); stroke-width: 2 }
.tf .removed { fill: var(--tf-removed-box); stroke: var(--tf-removed); stroke-width: 2; stroke-dasharray: 5 4 }
.tf .changed { fill: var(--tf-changed-box); stroke: var(--tf-changed); stroke-width: 2 }
.tf path { fill: none; stroke: var(--tf-line); stroke-width: 1.5 }
.tf path.added { fill: none; stroke: var(--tf-added); stroke-width: 2 }
.tf path.removed { fill: none; stroke: var(--tf-removed); stroke-width: 2 }"""


class Line(Struct, frozen=True):
    """A line of text. label: a word of ours before it. kind: a class of `STYLE`."""

    text: str
    label: str = ""
    kind: str = ""

    @property
    def length(self) -> int:
        """The columns of the whole line."""
        return display_width(self.label) + display_width(whole(self.text))


class Box(Struct, frozen=True):
    """A part with its place. Lines go in and out at the height of its name."""

    node: PictureNode
    x: float
    y: float
    width: float
    lines: tuple[Line, ...]

    @property
    def height(self) -> float:
        """Its height, which follows from its lines."""
        return len(self.lines) * LINE + 1.2 * PADDING

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """The height of its name."""
        return self.y + 0.6 * PADDING + LINE / 2

    @property
    def right(self) -> float:
        """Where it ends on the right."""
        return self.x + self.width


def render(picture: Picture) -> str:
    """The picture as a file, which brings its style."""
    return _drawn(picture, "picture", "", [f"<style>\n{STYLE}\n</style>"]) + "\n"


def element(picture: Picture, name: str, of: str = "") -> str:
    """The picture as an element of a page that has `STYLE` once for all of them: a browser computes the styles of the
    whole page again for each style that it meets. name: of what it is referred to by, unique in the page. of: what its
    name begins with for those who hear it: ids of the page, each with a blank behind it."""
    return _drawn(picture, name, of, [])


def _drawn(picture: Picture, name: str, of: str, style: Sequence[str]) -> str:
    above = _columns(picture, ABOVE, EDGE)
    middle = max((box.bottom for box in above), default=float(EDGE)) + 2 * GAP
    below = _columns(picture, BELOW, middle)
    boxes = [*above, *below]
    bottom = max((box.bottom for box in boxes), default=float(EDGE)) + 2 * GAP
    legend, legend_width = _legend(bottom)
    width = max([legend_width, *(box.right for box in boxes)]) + EDGE
    height = bottom + LINE + EDGE
    return "\n".join(
        [
            f'<svg class="tf" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-labelledby="{of}{name}-title" '
            f'aria-describedby="{name}-desc">',
            f'<title id="{name}-title">{escape(title(picture))}</title>',
            f'<desc id="{name}-desc">{escape(" ".join(described(picture)))}</desc>',
            *style,
            f'<rect class="paper" width="{width:g}" height="{height:g}"/>',
            *_headings(above, EDGE),
            *_headings(below, middle),
            *_arrows(picture, boxes),
            *map(_draw, boxes),
            *legend,
            "</svg>",
        ]
    )


# --- places


def _columns(picture: Picture, columns: Mapping[str, int], top: float) -> list[Box]:
    """The boxes of these kinds in columns beside each other."""
    found: list[Box] = []
    x: float = EDGE
    for kind, most in columns.items():
        nodes = [node for node in picture.nodes if node.kind == kind]
        if not nodes:
            continue
        lines = [_lines(picture, node, most) for node in nodes]
        letters = max(line.length for of_node in lines for line in of_node)
        width = max(NARROWEST, len(_heading(kind, len(nodes))), min(most, letters)) * LETTER + 2 * PADDING
        y = top + HEADING
        for node, of_node in zip(nodes, lines, strict=True):
            if kind == "shape":
                y = max(y, _first_user(picture, node, found))
            found.append(Box(node, x, y, width, tuple(of_node)))
            y = found[-1].bottom + GAP
        x += width + ROOM
    return found


def _first_user(picture: Picture, shape: PictureNode, boxes: Iterable[Box]) -> float:
    """The height of the first role on such nodes."""
    users = {edge.start for edge in picture.edges if edge.end == shape.id}
    return min((box.y for box in boxes if box.node.id in users), default=0.0)


def _heading(kind: str, count: int) -> str:
    one, several = KINDS[kind]
    return one if count == 1 else f"{several} ({count})"


def _headings(boxes: Sequence[Box], top: float) -> Iterator[str]:
    for kind in dict.fromkeys(box.node.kind for box in boxes):
        own = [box for box in boxes if box.node.kind == kind]
        yield _text(own[0].x, top + 13, [("q h", _heading(kind, len(own)))])


# --- texts


def _lines(picture: Picture, node: PictureNode, room: int) -> list[Line]:
    made = [Line(f"{SIGNS[node.change]}{node.name}", kind="h")]
    for fact in node.facts:
        made += _fact(node, fact, room)
    roles = sum(each.kind == "role" for each in picture.nodes)
    for end, label, mark, names in used_by(picture):
        if end == node.id:
            where = whole(label)
            who = users(names, roles, room - display_width(where) - 4)
            made += _fitting(f"{SIGNS[mark]}{where}: " if where else f"{SIGNS[mark]}used by ", who, room)
    return made


def _fitting(label: str, text: str, room: int) -> list[Line]:
    """The label and the text on one line, or below each other."""
    if display_width(label) + display_width(whole(text)) <= room:
        return [Line(text, label)]
    return [Line(label.removesuffix(" ").removesuffix(":"), kind="q"), Line(text, INDENT)]


def _fact(node: PictureNode, fact: PictureFact, room: int) -> list[Line]:
    label = f"{whole(fact.label)} "
    if node.change in ("added", "removed") or fact.before == fact.after:
        return [Line(plain(node, fact), label)]
    before, after = ("none" if value is None else value for value in (fact.before, fact.after))
    together = Line(f"{before} → {after}", f"{SIGNS['changed']}{label}", "h")
    if together.length <= room:
        return [together]
    return [Line(before, f"{SIGNS['changed']}{label}", "h"), Line(f"→ {after}", INDENT, "h")]


def _draw(box: Box) -> str:
    room = int((box.width - 2 * PADDING) / LETTER + 0.01)
    rows = [
        (
            f'<rect class="{box.node.change}" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" '
            f'height="{box.height:g}" rx="6"/>'
        )
    ]
    for place, line in enumerate(box.lines):
        label = cut(line.label, max(room // 2, room - display_width(whole(line.text))))
        shown = cut(line.text, room - display_width(label))
        full = whole(line.text)
        y = box.middle + place * LINE + 4.5
        parts = [("q", label), (line.kind, shown)]
        rows.append(_text(box.x + PADDING, y, parts, full if full != shown else ""))
    return "\n".join(rows)


def _text(x: float, y: float, parts: Iterable[tuple[str, str]], full: str = "") -> str:
    """A line of text. full: what it says where it is cut."""
    spans = "".join(_span(kind, words) for kind, words in parts if words)
    more = f"<title>{escape(full)}</title>" if full else ""
    return f'<text x="{x:g}" y="{y:g}">{more}{spans}</text>'


def _span(kind: str, words: str) -> str:
    return f'<tspan class="{kind}">{escape(words)}</tspan>' if kind else f"<tspan>{escape(words)}</tspan>"


# --- lines


def _arrows(picture: Picture, boxes: Iterable[Box]) -> Iterator[str]:
    """The lines between columns; what changes is drawn last. What roles use stands in words below: lines would cross
    each other."""
    found = {box.node.id: box for box in boxes}
    shapes = [key for key, box in found.items() if box.node.kind == "shape"]
    for edge in sorted(picture.edges, key=lambda edge: edge.change != "same"):
        start, end = found.get(edge.start), found.get(edge.end)
        if start is not None and end is not None and end.node.kind in ABOVE:
            lane = shapes.index(edge.end) % LANES if edge.end in shapes else 1
            yield _arrow(start, end, lane, edge.change)


def _arrow(start: Box, end: Box, lane: int, mark: Mark) -> str:
    """From the right of a box to the left of another: along, down, along."""
    bend = start.right + 10 + lane * LANE
    way = f"H{bend:g}V{end.middle:g}" if start.middle != end.middle else ""
    kind = f' class="{mark}"' if mark != "same" else ""
    return f'<path{kind} d="M{start.right:g} {start.middle:g}{way}H{end.x - 1:g}m-6 -4l6 4l-6 4"/>'


def _legend(y: float) -> tuple[list[str], float]:
    """What the marks mean, and where it ends."""
    x: float = EDGE
    parts = []
    for mark, words in LEGEND.items():
        text = f"{SIGNS[mark]}{words}"
        parts.append(f'<rect class="{mark}" x="{x:g}" y="{y:g}" width="16" height="{LINE - 3}" rx="3"/>')
        parts.append(_text(x + 24, y + 11.5, [("q", text)]))
        x += 24 + len(text) * LETTER + 2 * GAP
    text = "A role is one box, however many pods it has."
    parts.append(_text(x, y + 11.5, [("q", text)]))
    return parts, x + len(text) * LETTER
