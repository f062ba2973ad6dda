"""A review as one page of HTML that loads nothing and runs nothing, wide or narrow, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from trainform.console.lines import escaped
from trainform.console.sections import LONGEST_SENTENCE, Block, Item, Row, Section, Table, cut
from trainform.review.forms.document import (
    FINDINGS,
    by_severity,
    details,
    level,
    overview,
    short_image,
    summary,
    weighs,
)

if TYPE_CHECKING:
    from trainform.review.model import (
        Fact,
        Mark,
        Picture,
        PictureEdge,
        PictureFact,
        PictureNode,
        Report,
        Review,
    )

PAGE = Path(__file__).with_name("page.html")
MARKS: dict[Mark, str] = {
    "same": "exists already",
    "added": "new",
    "removed": "removed",
    "changed": "changes",
    "restarted": "starts again",
}
USES = {"added": "from now on", "removed": "no longer"}
"""Words for the use of a queue or claim that begins or ends while the queue or claim exists."""


def render(review: Review) -> str:
    """Return the review as text that ends with a line feed. Of several stacks, an overview is the head of the page,
    and the stacks follow that have more than their row in it."""
    reports = by_severity(review.stacks)
    alone = len(reports) == 1 and review.selection is None
    head = summary(reports[0]) if alone else overview(review)
    shown = [report for report in reports if alone or weighs(report)]
    body = [] if alone else [_verdict(review.outcome.value, "h1", "top", head, ""), *_blocks(head.blocks, len(shown))]
    for place, report in enumerate(shown, 1):
        body += _stack(report, f"stack-{place}", "h1" if alone else "h2")
    page = Template(PAGE.read_text(encoding="utf-8"))
    return page.substitute(title=_text(head.heading), body="\n".join(body))


def _verdict(kind: str, heading: str, name: str, head: Section, more: str) -> str:
    text = f'{_words(escaped(f"{head.title}:"))} <b class="word">{_text(head.verdict)}</b>'
    return f'<div class="verdict {kind}"><{heading} id="{name}">{text}</{heading}>{more}</div>'


def _stack(report: Report, name: str, heading: str) -> Iterator[str]:
    first, rest = summary(report), details(report)
    kind = "high" if "high" in map(level, report.findings) else report.outcome.value
    lead, *lines = (block for block in first.blocks if isinstance(block, Item))
    yield f'<article aria-labelledby="{name}">'
    more = f"<p>{prose(lead.text)}</p>{_rows(lead.rows[: len(lead.rows) - len(report.facts)])}"
    yield _verdict(kind, heading, name, first, more)
    if report.facts:
        yield f'<dl class="tiles">{"".join(map(_tile, report.facts))}</dl>'
    found = next((part.blocks for part in rest if part.title == FINDINGS), ())
    yield from map(_finding, (line for line in lines if line.level), found)
    yield from _blocks(line for line in lines if not line.level)
    for picture in report.pictures:
        yield from _picture(picture)
    yield "<details><summary>Details</summary>"
    below = "h2" if heading == "h1" else "h3"
    for part in rest:
        if part.title != FINDINGS:
            yield from [f"<{below}>{_text(part.title)}</{below}>", *_blocks(part.blocks)]
    yield "</details></article>"


def _tile(fact: Fact) -> str:
    text = f'<dd class="text">{prose(cut(fact.text, LONGEST_SENTENCE))}</dd>' if fact.text else ""
    number = _text(cut(fact.number))
    return f'<div class="tile"><dt>{_text(fact.key.capitalize())}</dt><dd class="number">{number}</dd>{text}</div>'


def _finding(line: Item, found: Block) -> str:
    """Return a finding on one line, with its details folded."""
    rows = found.rows if isinstance(found, Item) else ()
    pill = f'<span class="pill {line.level}">{_text(line.level)}</span>'
    where = f' <span class="where">{prose(line.where)}</span>' if line.where else ""
    head = f"<summary>{pill} {_code(line.code)} {prose(line.text)}{where}</summary>"
    return f'<details class="finding">{head}{_rows(rows)}</details>'


def _picture(picture: Picture) -> Iterator[str]:
    """Yield the queue with the job, and each role with the claims that it mounts. Claims without a role are last."""
    nodes = {node.id: node for node in picture.nodes}
    edges = [edge for edge in picture.edges if {edge.start, edge.end} <= nodes.keys()]  # a stored report may be wrong
    used = {edge.end for edge in edges}
    jobs = (_box(node) for node in picture.nodes if node.kind == "job")
    rows = [[*(_use(edge, nodes[edge.start]) for edge in edges if edge.end.startswith("job/")), *jobs]]
    for node in picture.nodes:
        if node.kind == "role" or (node.kind == "claim" and node.id not in used):
            rows += [[_box(node), *(_use(edge, nodes[edge.end]) for edge in edges if edge.start == node.id)]]
    yield f'<div class="picture" role="group" aria-label="Queue, roles and claims of {_text(cut(picture.job))}">'
    yield from (f'<div class="row">{"".join(row)}</div>' for row in rows)
    yield "</div>"


def _use(edge: PictureEdge, node: PictureNode) -> str:
    """Return a queue or claim, with its use by the job or the role."""
    ends = "" if edge.change == node.change else USES.get(edge.change, "")
    how = " ".join(filter(None, [f"at {cut(edge.label)}" if edge.label else "", ends]))
    return f'<div class="use {edge.change}"><span class="label">{_text(how)}</span>{_box(node)}</div>'


def _box(node: PictureNode) -> str:
    facts = "".join(
        f'<li><span class="label">{_text(fact.label)}</span>{_words(_sides(fact, node.change))}</li>'
        for fact in node.facts
    )
    head = f'<span class="label">{node.kind.capitalize()}</span><b class="mark">{MARKS[node.change]}</b>'
    return f'<div class="box {node.change}">{head}<b>{_words(escaped(cut(node.name)))}</b><ul>{facts}</ul></div>'


def _sides(fact: PictureFact, mark: Mark) -> str:
    """Return the fact before and after, once if it does not change."""
    given = [fact.before, fact.after] if mark in ("changed", "restarted") else [fact.after or fact.before]
    sides = [*dict.fromkeys("none" if side is None else side for side in given)]
    short = [*dict.fromkeys(map(short_image, sides))] if fact.label == "image" else sides
    return escaped(" → ".join(map(cut, short if len(short) == len(sides) else sides)))


def _blocks(blocks: Iterable[Block], linked: int = 0) -> Iterator[str]:
    """Yield the blocks. linked: the number of rows of a table that lead to a part of the page."""
    for block in blocks:
        if isinstance(block, Table):
            yield '<div class="wide" role="group" tabindex="0" aria-label="Stacks"><table>'
            for place, (first, *cells) in enumerate(block.rows):
                name = f'<a href="#stack-{place}">{prose(first)}</a>' if 0 < place <= linked else prose(first)
                row = "".join(f"<td>{cell}</td>" for cell in (name, *map(prose, cells)))
                yield f"<tr>{row if place else row.replace('td>', 'th>')}</tr>"
            yield "</table></div>"
        else:
            yield f"<p>{prose(block.text)}</p>{_rows(block.rows)}"


def _rows(rows: Iterable[Row]) -> str:
    items = [
        f"<li>{f'<span class=label>{_text(row.label)}</span>' if row.label else ''}"
        f"{_code(row.text) if row.verbatim else prose(row.text)}</li>"
        for row in rows
    ]
    return f'<ul class="rows">{"".join(items)}</ul>' if items else ""


def prose(text: str) -> str:
    """Return a sentence, with text in backticks as code."""
    parts = re.split(r"`([^`]+)`", escaped(text))
    return "".join(_code(part) if place % 2 else _words(part) for place, part in enumerate(parts))


def _words(text: str) -> str:
    """Return the text, in which a name with hyphens or slashes breaks only if it is wider than its line."""
    words = re.split(r"( )", text)
    return "".join(
        f'<span class="name">{escape(word)}</span>' if set("-/") & {*word} else escape(word) for word in words
    )


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    return escape(escaped(text))
