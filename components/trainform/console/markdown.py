"""A report as Markdown for GitHub. No name or value can become a tag, a link, a picture, a mention or a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from trainform.console.lines import escaped
from trainform.console.sections import Item, Row, Section, Table

# A word as it may stand outside of a code span. Everything else goes into one, where Markdown and GitHub read nothing:
# `@name`, `#12`, `<b>`, `[a](b)`, `https://…`, `a_b_c`, `$x$`, `:smile:`.
_PLAIN = re.compile(r"[(\"']*[+-]?[^\W_]([^\W_]|[,.;'/%+-](?=[^\W_]))*[,.;:!?)\"'%]*|→|…|[0-9.,]+…|[-=%]")
_LINKED = re.compile(r"www\.|://|^GH-[0-9]|^[0-9a-f]{7,64}$", re.IGNORECASE)
# A word with its text in backticks; our own sentences name fields in this way. A list or a mapping is one word.
_WORD = re.compile(r"(?:`[^`]*`|\[(?:[^][`]|\[[^][`]*\])*\]|\{(?:[^}{`]|\{[^}{`]*\})*\}|[^\s`]|`)+")
_BEFORE, _AFTER = "(\"'", ",.;:!?)\"'"
# The beginning of a line that Markdown reads as a list, a quotation or a heading.
_OPENING = re.compile(r"([0-9]+)([.)])(?=\s|$)|[-+=](?=\s|$|[-+=])|[-+](?=.)")
FOLD, END = "<details>\n<summary>Details</summary>", "</details>"


def folded(document: Sequence[Section]) -> Iterator[str]:
    """Yield the summary of a document, and its details folded."""
    summary, *details = document
    yield from section(summary, "##")
    if details:
        yield from [FOLD, *(part for each in details for part in section(each, "###")), END]


def render_documents(given: Iterable[Sequence[Section]]) -> str:
    """Return documents, each with its title in the first section, as text that ends with a line feed."""
    parts = (section(part, "###" if place else "##") for document in given for place, part in enumerate(document))
    return "\n\n".join(block for part in parts for block in part) + "\n"


def section(part: Section, heading: str) -> Iterator[str]:
    """Yield the heading and the blocks of a section. Items in a row are one list; at the head, paragraphs."""
    yield f"{heading} {prose(part.heading)}"
    listed: list[str] = []
    for block in part.blocks:
        if isinstance(block, Item) and (block.level or heading != "##"):
            listed.append(item(block))
            continue
        yield from ["\n".join(listed)] * bool(listed)
        listed = []
        if isinstance(block, Table):
            yield _table(block)
        else:
            yield prose(block.text)
            yield from ["\n".join(map(_row, block.rows))] * bool(block.rows)
    yield from ["\n".join(listed)] * bool(listed)


def item(block: Item) -> str:
    """Return a sentence of a list, with its rows below it."""
    level = f"**{block.level.upper()}** " if block.level else ""
    mark = f"{code(block.code)} " if block.code else ""
    return "\n".join([f"- {level}{mark}{prose(block.line)}", *(f"  {_row(row)}" for row in block.rows)])


def _row(row: Row) -> str:
    return f"- {f'{row.label}: ' if row.label else ''}{code(row.text) if row.verbatim else prose(row.text)}"


def _table(table: Table) -> str:
    names, *others = (f"| {' | '.join(map(cell, row))} |" for row in table.rows)
    return "\n".join([names, f"|{' --- |' * len(table.rows[0])}", *others])


def cell(text: str) -> str:
    """Return a cell. Parsers differ in how a separator is escaped in code spans."""
    return prose(text.replace("|", r"\x7c"))


def code(text: str) -> str:
    """Return a code span that shows exactly this text, on one line."""
    text = escaped(text)
    if not text.strip(" "):
        return "(empty)"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """Return a sentence, in which each word that Markdown or GitHub would read as something else is a code span."""
    words = [_word(word) for word in _WORD.findall(escaped(text))]
    if not words:
        return "(empty)"
    opening = _OPENING.match(words[0])
    if opening is not None:
        place = opening.end(1) if opening.group(1) else 0
        words[0] = f"{words[0][:place]}\\{words[0][place:]}"
    return " ".join(words)


def _word(word: str) -> str:
    begun = word.lstrip(_BEFORE)
    inside = begun.rstrip(_AFTER)
    before, after = word[: len(word) - len(begun)], begun[len(inside) :]
    quoted = inside[1:-1]
    if inside == f"`{quoted}`" and quoted.strip(" ") and "`" not in quoted:
        return f"{before}{code(quoted)}{after}"
    if _PLAIN.fullmatch(word) is not None and _LINKED.search(inside) is None:
        return word
    return f"{before}{code(inside)}{after}" if inside else code(word)
