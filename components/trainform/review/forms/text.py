"""A review as text: for a terminal, as Markdown, and as a comment on a pull request, which has a limited length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainform.console.markdown import folded
from trainform.console.terminal import GAP, USUAL, Line, lines_of
from trainform.review.forms.document import documents
from trainform.review.model import Review

ROOM = 100  # bytes for the sentence about the lines that are left out


DETAILS = "details: --full"


def lines(review: Review, width: int = USUAL, *, full: bool = False) -> Iterator[Line]:
    """Yield the lines for a terminal of this width. full: with all details, and the stacks whose row in the overview is
    complete."""
    every = documents(review, every=full)
    yield from lines_of(every if full else [document[:1] for document in every], width)
    if not full:
        yield Line(f"{GAP}{DETAILS}")


def terminal(review: Review, width: int = USUAL, *, full: bool = False) -> str:
    """Return the lines as text that ends with a line feed."""
    return "".join(f"{line.text}\n" for line in lines(review, width, full=full))


def markdown(review: Review) -> str:
    """Return the review as text that ends with a line feed: summaries, with the details of each folded."""
    return "\n\n".join(part for document in documents(review) for part in folded(document)) + "\n"


# --- comments


def marker(project: str) -> str:
    """Return the first line, by which a workflow finds the comment on the stacks of this project."""
    return f"<!-- trainform-review {re.sub('[^A-Za-z0-9_.-]', '', project)[:100]} -->"


def size(text: str) -> int:
    """Return the number of bytes, with two for the end of a line: GitHub does not document how it counts."""
    return len(text.encode()) + text.count("\n")


def comment(review: Review, limit: int, page: str | None = None) -> str:
    """Return the comment, at most `limit` bytes long: with the details if they fit, else the summaries, cut at the
    limit; the least severe stack is last. page: the address of the whole report."""
    first, end = f"{marker(review.project)}\n", "\n" if page is None else f"\n\n---\n\n[The whole report]({page})\n"
    room = limit - size(first + end)
    whole = documents(review, every=False)
    for shown in (whole, [document[:1] for document in whole]):
        text = "\n\n".join(part for document in shown for part in folded(document))
        if size(text) <= room:
            return f"{first}{text}{end}"
    lines, kept = text.split("\n"), []
    for line in lines:
        room -= size(f"{line}\n")
        if room < ROOM:
            break
        kept.append(line)
    left_out = sum(bool(line) for line in lines[len(kept) :])
    text = "\n".join([*kept, "", f"**Left out: {left_out} more lines. The whole report has them.**"])
    return f"{first}{text}{end}"
