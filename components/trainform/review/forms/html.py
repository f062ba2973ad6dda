"""A review as one page of HTML that loads nothing and runs nothing, wide or narrow, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from trainform.escaping import escaped
from trainform.review.forms.document import FINDINGS, by_severity, details, level, overview, summary, weighs
from trainform.review.forms.sections import LONGEST_SENTENCE, Block, Item, Row, Section, Table, cut
from trainform.review.picture import svg

if TYPE_CHECKING:
    from trainform.review.model import Fact, Report, Review

PAGE = Path(__file__).with_name("page.html")


def render(review: Review) -> str:
    """Return the review as text that ends with a line feed. Of several stacks, an overview is the head of the page."""
    reports = by_severity(review.stacks)
    alone = len(reports) == 1 and review.selection is None
    head = summary(reports[0]) if alone else overview(review)
    body = [] if alone else [_verdict(review.outcome.value, "h1", "top", head.title, ""), *_blocks(head.blocks)]
    for place, report in enumerate(reports, 1):
        shown = alone or weighs(report)
        body += (
            _stack(report, f"stack-{place}", "h1" if alone else "h2") if shown else _folded(report, f"stack-{place}")
        )
    page = Template(PAGE.read_text(encoding="utf-8"))
    return page.substitute(title=_text(head.title), body="\n".join(body))


def _verdict(kind: str, heading: str, name: str, title: str, more: str) -> str:
    of, _, word = title.rpartition(": ")
    text = f'{_words(escaped(f"{of}:"))} <b class="word">{_text(word)}</b>'
    return f'<div class="verdict {kind}"><{heading} id="{name}">{text}</{heading}>{more}</div>'


def _stack(report: Report, name: str, heading: str) -> Iterator[str]:
    first, *rest = summary(report), *details(report)
    kind = "high" if "high" in map(level, report.findings) else report.outcome.value
    lead, *lines = (block for block in first.blocks if isinstance(block, Item))
    yield f'<article aria-labelledby="{name}">'
    more = f"<p>{prose(lead.text)}</p>{_rows(lead.rows[: len(lead.rows) - len(report.facts)])}"
    yield _verdict(kind, heading, name, first.title, more)
    if report.facts:
        yield f'<dl class="tiles">{"".join(map(_tile, report.facts))}</dl>'
    found = next((part.blocks for part in rest if part.title == FINDINGS), ())
    yield from map(_finding, (line for line in lines if line.level), found)
    yield from _blocks(line for line in lines if not line.level)
    yield from _queue(report)
    for picture in report.pictures:
        label = f"Queue, roles and claims of {_text(cut(picture.job))}"
        yield f'<div class="wide" role="group" tabindex="0" aria-label="{label}">{svg.element(picture)}</div>'
    yield from [
        "<details><summary>Details</summary>",
        *_details(rest, "h2" if heading == "h1" else "h3"),
        "</details></article>",
    ]


def _folded(report: Report, name: str) -> Iterator[str]:
    """A stack of which the overview says all."""
    title = _text(summary(report).title)
    yield f'<details id="{name}"><summary>{title}</summary><p>{prose(cut(report.headline, LONGEST_SENTENCE))}</p>'
    yield from [*_details(details(report), "h2"), "</details>"]


def _details(sections: Iterable[Section], heading: str) -> Iterator[str]:
    for part in sections:
        if part.title != FINDINGS:
            yield from [f"<{heading}>{_text(part.title)}</{heading}>", *_blocks(part.blocks)]


def _tile(fact: Fact) -> str:
    text = f'<dd class="text">{prose(cut(fact.text, LONGEST_SENTENCE))}</dd>' if fact.text else ""
    number = _text(cut(fact.number))
    return f'<div class="tile"><dt>{_text(fact.key.capitalize())}</dt><dd class="number">{number}</dd>{text}</div>'


def _finding(line: Item, found: Block) -> str:
    """A finding on one line, with what else is known of it behind it."""
    rows = found.rows if isinstance(found, Item) else ()
    pill = f'<span class="pill {line.level}">{_text(line.level)}</span>'
    where = f' <span class="where">{prose(line.where)}</span>' if line.where else ""
    head = f"<summary>{pill} {_code(line.code)} {prose(line.text)}{where}</summary>"
    return f'<details class="finding">{head}{_rows(rows)}</details>'


def _queue(report: Report) -> Iterator[str]:
    """What the queue holds, what the job requests of it, and what the queue may hold."""
    queue = report.capacity.queue
    if queue is None:
        return
    end = max(queue.held + queue.requested, queue.capability or 0, 1e-9)
    held, asked, most = (100 * amount / end for amount in (queue.held, queue.requested, queue.capability or end))
    kind = "over" if queue.capability is not None and held + asked > most else "asked"
    yield f'<div class="queue"><p>Queue {_text(queue.name)}, {_text(queue.resource)}</p>'
    yield '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
    yield f'<rect class="held" width="{held:g}" height="10"/>'
    yield f'<rect class="{kind}" x="{held:g}" width="{asked:g}" height="10"/>'
    yield f'<rect class="most" x="{most - 0.4:g}" width="0.4" height="10"/></svg>'
    limit = "no limit" if queue.capability is None else f"{queue.capability:g} at most"
    amounts = {"held": f"{queue.held:g} held by other jobs", kind: f"{queue.requested:g} requested", "most": limit}
    keys = (f'<span><i class="key {key}"></i>{text}</span>' for key, text in amounts.items())
    yield f'<p class="keys">{"".join(keys)}</p></div>'


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Table):
            yield '<div class="wide" role="group" tabindex="0" aria-label="Stacks"><table>'
            for place, (first, *cells) in enumerate(block.rows):
                name = f'<a href="#stack-{place}">{prose(first)}</a>' if place else prose(first)
                row = "".join(f"<td>{cell}</td>" for cell in (name, *map(prose, cells)))
                yield f"<tr>{row if place else row.replace('td>', 'th>')}</tr>"
            yield "</table></div>"
        else:
            yield f"<p>{prose(block.text)}</p>{_rows(block.rows)}"


def _rows(rows: Iterable[Row]) -> str:
    made = [
        f"<li>{f'<span class=label>{_text(row.label)}</span>' if row.label else ''}"
        f"{_code(row.text) if row.verbatim else prose(row.text)}</li>"
        for row in rows
    ]
    return f'<ul class="rows">{"".join(made)}</ul>' if made else ""


def prose(text: str) -> str:
    """Return a sentence; what stands in backticks is shown as code."""
    parts = re.split(r"`([^`]+)`", escaped(text))
    return "".join(_code(part) if place % 2 else _words(part) for place, part in enumerate(parts))


def _words(text: str) -> str:
    """The text, in which a name with hyphens or slashes is broken only where it is wider than its line."""
    words = re.split(r"( )", text)
    return "".join(
        f'<span class="name">{escape(word)}</span>' if set("-/") & {*word} else escape(word) for word in words
    )


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    return escape(escaped(text))
