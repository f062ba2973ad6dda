"""A review as one page of HTML that needs nothing else: it loads nothing, runs nothing, and is read with any width, by
night and by ear."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from trainform.escaping import escaped
from trainform.review.forms.document import documents, weighs
from trainform.review.forms.sections import Block, Drawing, Fold, Item, Row, Section, Table
from trainform.review.model import Picture, Review
from trainform.review.picture import svg
from trainform.review.picture.words import described

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may load: nothing but the style that stands in it."""
GENERATOR = '<meta name="generator" content="trainform review">'
STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #59636e; --paper: #ffffff; --box: #f6f8fa; --rule: #d1d9e0; \
--link: #0969da;
--high: #cf222e; --medium: #9a6700; --low: #0969da }
@media (prefers-color-scheme: dark) {
:root { --ink: #e6edf3; --quiet: #9198a1; --paper: #0d1117; --box: #161b22; --rule: #3d444d; --link: #58a6ff; --high: \
#ff7b72;
--medium: #d29922; --low: #58a6ff }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 84rem; padding: 1rem; background: var(--paper); color: var(--ink); overflow-wrap: \
anywhere;
font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem }
h2 { font-size: 1.35rem } h3 { font-size: 1.1rem }
h2, h3 { border-bottom: 1px solid var(--rule); margin: 2rem 0 .75rem; padding-bottom: .25rem }
a { color: var(--link) }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: 0; padding: 0 }
header p { margin: .25rem 0 }
header p:first-of-type { font-size: 1.15rem; margin: .5rem 0 }
nav { margin-top: 1rem }
ul.items { margin: 0; padding-left: 1.25rem }
ul.items > li { margin: .5rem 0 }
ul.items.leveled { list-style: none; padding: 0 }
li.high, li.medium, li.low { border-left: 4px solid var(--quiet); background: var(--box); padding: .5rem .75rem }
li.high { border-color: var(--high) } li.medium { border-color: var(--medium) } li.low { border-color: var(--low) }
.high > .level { color: var(--high) } .medium > .level { color: var(--medium) } .low > .level { color: var(--low) }
.level { font-weight: 600; text-transform: uppercase }
code { font: .875em ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; background: \
var(--box); border-radius: 4px;
padding: .1em .3em }
ul.rows { list-style: none; margin: .25rem 0 0; padding: 0 }
ul.rows > .labelled { padding-left: 6rem }
ul.rows .label { color: var(--quiet); float: left; margin-left: -6rem; padding-right: .5rem; width: 6rem }
ul.rows code { background: none; padding: 0 }
.wide { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; min-width: 44rem }
th, td { border: 1px solid var(--rule); padding: .35rem .6rem; text-align: left; vertical-align: top; min-width: 5rem }
thead th { background: var(--box); overflow-wrap: break-word }
tbody th { min-width: 8rem }
summary { cursor: pointer; padding: .25rem 0 }
svg { display: block }
article.unfolded { content-visibility: auto; contain-intrinsic-size: auto 60rem; overflow-clip-margin: 1rem }
@media print {
article.unfolded { content-visibility: visible }
.wide { overflow: visible } table, th, td { min-width: 0 } thead th { overflow-wrap: anywhere } svg { max-width: 100%; \
height: auto }
details::details-content { content-visibility: visible; display: block; height: auto }
}"""

MOST_UNFOLDED = 10
"""Of more stacks, the reports are folded but for those that weigh."""


def render(review: Review) -> str:
    """The review as text that ends with a line feed. Of several stacks the summary is the head of the page."""
    (first, *others), *stacks = documents(review)
    name = _text(first.title)
    many = len(review.stacks) > MOST_UNFOLDED
    folded = {place for place, report in enumerate(review.stacks, 1) if many and not weighs(report)}
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        GENERATOR,
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{name}</title>",
        f"<style>\n{STYLE}\n{svg.STYLE}\n</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{name}</h1>",
        *_said(first),
        "</header>",
        *_contents([*_named(others, "part-0"),
                *((f"part-{place}", stack[0]) for place, stack in enumerate(stacks, 1))]),
        "<main>",
        *(line for part in _named(others, "part-0") for line in _section(*part, "h2")),
        *(line for place, stack in enumerate(stacks, 1) for line in _stack(stack, f"part-{place}",
                fold=place in folded)),
        "</main>",
        "</body>",
        "</html>",
    ]) + "\n"  # fmt: skip


def _named(parts: Sequence[Section], name: str) -> list[tuple[str, Section]]:
    """Each part with its name, which the page has once."""
    return [(f"{name}-{place}", part) for place, part in enumerate(parts)]


def _said(first: Section) -> Iterator[str]:
    yield from (f"<p>{prose(block.text)}</p>" for block in first.blocks if isinstance(block, Item))


def _contents(parts: Sequence[tuple[str, Section]]) -> Iterator[str]:
    yield '<nav aria-label="Parts of the report"><ul>'
    yield from (f'<li><a href="#{name}">{_text(part.title)}</a></li>' for name, part in parts)
    yield "</ul></nav>"


def _stack(document: Sequence[Section], name: str, *, fold: bool) -> Iterator[str]:
    """The report on one of several stacks. A browser lays out what is not folded when it comes near to the screen; it
    is found and printed all the same."""
    first, *others = document
    kind = "" if fold else ' class="unfolded"'
    yield f'<article{kind} aria-labelledby="{name}">'
    yield f'<h2 id="{name}">{_text(first.title)}</h2>'
    yield from _said(first)
    yield from ["<details><summary>The report on this stack</summary>"] if fold else []
    yield from (line for part in _named(others, name) for line in _section(*part, "h3", f"{name} "))
    yield from ["</details>"] if fold else []
    yield "</article>"


def _section(name: str, section: Section, heading: str, above: str = "") -> Iterator[str]:
    """A part of the page. above: the heading of its stack, without which the parts of several stacks would have the
    same names by ear."""
    yield f'<section aria-labelledby="{above}{name}">'
    yield f'<{heading} id="{name}">{_text(section.title)}</{heading}>'
    yield from _blocks(section.blocks, name, above)
    yield "</section>"


def _blocks(blocks: Sequence[Block], name: str, above: str) -> Iterator[str]:
    """The blocks; items that follow each other are one list."""
    listed: list[Item] = []
    for place, block in enumerate(blocks):
        if isinstance(block, Item):
            listed.append(block)
            continue
        yield from _list(listed)
        listed = []
        match block:
            case Table():
                yield from _table(block, f"{above}{name}")
            case Fold():
                yield f"<details><summary>{prose(block.title)}</summary>"
                yield from _list(block.items)
                yield "</details>"
            case Drawing():
                yield from _drawing(block.picture, f"{name}-{place}", above)
    yield from _list(listed)


def _list(items: Sequence[Item]) -> Iterator[str]:
    if items:
        yield f'<ul class="items{" leveled" if any(item.level for item in items) else ""}">'
        yield from map(_item, items)
        yield "</ul>"


def _item(item: Item) -> str:
    level = f'<span class="level">{_text(item.level)}</span> ' if item.level else ""
    mark = f"{_code(item.code)} " if item.code else ""
    rows = f'<ul class="rows">{"".join(map(_row, item.rows))}</ul>' if item.rows else ""
    kind = f' class="{_text(item.level)}"' if item.level else ""
    return f"<li{kind}>{level}{mark}{prose(item.text)}{rows}</li>"


def _row(row: Row) -> str:
    text = _code(row.text) if row.verbatim else prose(row.text)
    return (
        f'<li class="labelled"><span class="label">{_text(row.label)}</span> {text}</li>'
        if row.label
        else f"<li>{text}</li>"
    )


def _table(table: Table, name: str) -> Iterator[str]:
    """The table, which is moved sideways where the page is narrow."""
    names, *rows = table.rows
    yield f'<div class="wide" role="group" tabindex="0" aria-labelledby="{name}"><table><thead><tr>'
    yield from (f'<th scope="col">{_text(name)}</th>' for name in names)
    yield "</tr></thead><tbody>"
    for first, *cells in rows:
        yield f'<tr><th scope="row">{prose(first)}</th>{"".join(f"<td>{prose(cell)}</td>" for cell in cells)}</tr>'
    yield "</tbody></table></div>"


def _drawing(picture: Picture, name: str, above: str) -> Iterator[str]:
    """The picture, which is moved sideways where the page is narrow, and the same in words."""
    yield f'<div class="wide" role="group" tabindex="0" aria-labelledby="{above}{name}-title">'
    yield svg.element(picture, name, above)
    yield "</div>"
    yield "<details><summary>The picture in words</summary>"
    yield from _list([Item(sentence) for sentence in described(picture)])
    yield "</details>"


def prose(text: str) -> str:
    """A sentence; what stands in backticks is shown as code."""
    shown = escaped(text)
    if not shown.strip(" "):
        return "(empty)"
    parts = re.split(r"`([^`]+)`", shown)
    return "".join(f"<code>{escape(part)}</code>" if place % 2 else escape(part) for place, part in enumerate(parts))


def _code(text: str) -> str:
    """A value as it is."""
    return f"<code>{escape(escaped(text))}</code>" if text.strip(" ") else "(empty)"


def _text(text: str) -> str:
    return escape(escaped(text))
