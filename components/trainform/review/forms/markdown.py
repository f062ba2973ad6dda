"""A review as Markdown of GitHub's kind, to be posted: no name and no value can become a tag, a link, a picture, a
mention or a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from trainform.escaping import escaped
from trainform.review.forms.document import documents
from trainform.review.forms.sections import Block, Drawing, Fold, Item, Row, Section, Table
from trainform.review.model import Picture, Review
from trainform.review.picture.words import described, title

# A word as it may stand outside of a code span. Everything else goes into one, where Markdown and GitHub read nothing:
# `@name`, `#12`, `<b>`, `[a](b)`, `https://…`, `a_b_c`, `$x$`, `:smile:`.
_PLAIN = re.compile(r"[(\"']*[+-]?[^\W_]([^\W_]|[,.;'/%+-](?=[^\W_]))*[,.;:!?)\"'%]*|→|…|[0-9.,]+…|[-=%]")
_LINKED = re.compile(r"www\.|://|^GH-[0-9]|^[0-9a-f]{7,64}$", re.IGNORECASE)
# A word with what stands in backticks inside of it; our own sentences name fields in this way.
_WORD = re.compile(r"(?:`[^`]*`|[^\s`]|`)+")
_BEFORE, _AFTER = "(\"'", ",.;:!?)\"'"
# What would begin a list, a quotation or a heading at the beginning of a line.
_OPENING = re.compile(r"([0-9]+)([.)])(?=\s|$)|[-+=](?=\s|$|[-+=])|[-+](?=.)")


def render(review: Review) -> str:
    """The review as text that ends with a line feed."""
    return render_documents(documents(review))


def render_documents(found: Iterable[Sequence[Section]]) -> str:
    """Documents, each with its title in the first section, as text that ends with a line feed."""
    return "\n\n".join(block for document in found for block in _document(*document)) + "\n"


def _document(first: Section, *others: Section) -> Iterator[str]:
    yield f"## {prose(first.title)}"
    yield from (prose(block.text) for block in first.blocks if isinstance(block, Item))
    for section in others:
        yield f"### {prose(section.title)}"
        yield from merged(section.blocks)


def merged(blocks: Sequence[Block]) -> Iterator[str]:
    """The blocks as Markdown; items that follow each other are one list."""
    listed: list[str] = []
    for block in blocks:
        if isinstance(block, Item):
            listed.append(_item(block))
            continue
        if listed:
            yield "\n".join(listed)
            listed = []
        yield _block(block)
    if listed:
        yield "\n".join(listed)


def _block(block: Table | Fold | Drawing) -> str:
    match block:
        case Table():
            return _table(block)
        case Fold():
            return _fold(block)
        case Drawing():
            return drawing(block.picture)


def _item(item: Item) -> str:
    level = f"**{item.level.upper()}** " if item.level else ""
    mark = f"{code(item.code)} " if item.code else ""
    return "\n".join([f"- {level}{mark}{prose(item.text)}", *map(_row, item.rows)])


def _row(row: Row) -> str:
    return f"  - {f'{row.label}: ' if row.label else ''}{code(row.text) if row.verbatim else prose(row.text)}"


def _table(table: Table) -> str:
    names, *others = (f"| {' | '.join(map(cell, row))} |" for row in table.rows)
    return "\n".join([names, f"|{' --- |' * len(table.rows[0])}", *others])


def cell(text: str) -> str:
    """A cell: what separates cells does so in code spans too, and parsers differ in how it is escaped there."""
    return prose(text.replace("|", r"\x7c"))


def _fold(fold: Fold) -> str:
    """The items behind their title. GitHub reads no Markdown in a summary: the title is one of ours, of plain words."""
    items = "\n".join(map(_item, fold.items))
    return f"<details>\n<summary>{prose(fold.title)}</summary>\n\n{items}\n\n</details>"


def drawing(picture: Picture) -> str:
    """The picture in words: the page of HTML draws it."""
    told = "\n".join(f"- {prose(sentence)}" for sentence in described(picture))
    return f"{prose(title(picture))}:\n\n<details>\n<summary>The picture in words</summary>\n\n{told}\n\n</details>"


def code(text: str) -> str:
    """A code span that shows exactly this text, on one line."""
    text = escaped(text)
    if not text.strip(" "):
        return "(empty)"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """A sentence, in which each word that Markdown or GitHub would read as something else is a code span."""
    words = [_word(word) for word in _WORD.findall(escaped(text))]
    if not words:
        return "(empty)"
    opening = _OPENING.match(words[0])
    if opening is not None:
        place = opening.end(1) if opening.group(1) else 0
        words[0] = f"{words[0][:place]}\\{words[0][place:]}"
    return " ".join(words)


def _word(word: str) -> str:
    before, inside, after = _parts(word)
    quoted = inside[1:-1]
    if inside == f"`{quoted}`" and quoted.strip(" ") and "`" not in quoted:
        return f"{before}{code(quoted)}{after}"
    if _PLAIN.fullmatch(word) is not None and _LINKED.search(inside) is None:
        return word
    return f"{before}{code(inside)}{after}" if inside else code(word)


def _parts(word: str) -> tuple[str, str, str]:
    """The word without the punctuation around it, and that before and after it."""
    begun = word.lstrip(_BEFORE)
    inside = begun.rstrip(_AFTER)
    return word[: len(word) - len(begun)], inside, begun[len(inside) :]
