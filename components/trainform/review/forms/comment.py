"""A review as a comment on a pull request: of limited length, with the most severe parts first, and with a marker in
the first line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trainform.review.forms.document import documents, weighs
from trainform.review.forms.markdown import merged, prose, render_documents
from trainform.review.forms.sections import Block, Item, Section
from trainform.review.model import Outcome, Report, Review

# Ranks, the most important first. Findings have the rank of their level.
LEVELS = {"high": 1, "medium": 3, "low": 5}
SECTIONS = {"Stacks": 2, "What happens": 3, "Findings": 4, "Changes": 4, "Cost in sum": 4, "Picture": 7}
SUMMARY, HEADLINE, OTHERS = 0, 3, 6
OUTCOMES = (Outcome.failed, Outcome.findings, Outcome.incomplete, Outcome.clean)
ROOM = 1500  # bytes for the sentence about the parts that are left out
Part = tuple[int, int, Block]
"""A block, and the document and the section in which it is."""


def marker(project: str) -> str:
    """Return the first line, by which a workflow finds the comment on the stacks of this project."""
    return f"<!-- trainform-review {re.sub('[^A-Za-z0-9_.-]', '', project)[:100]} -->"


def size(text: str) -> int:
    """Return the number of bytes, with two for the end of a line: GitHub does not document how it counts."""
    return len(text.encode()) + text.count("\n")


def render(review: Review, limit: int, page: str | None = None) -> str:
    """Return the comment, at most `limit` bytes long. `page`: the address of the whole report."""
    beginning = f"{marker(review.project)}\n"
    end = "" if page is None else f"\n---\n\n[The whole report]({page})\n"
    made = _documents(review)
    kept, left_out = _fitting(made, limit - size(beginning) - size(end) - ROOM)
    if left_out:
        counts = ", ".join(f"{prose(title)} ({count})" for title, count in sorted(left_out.items()))
        end = f"\n**Left out; the whole report has all parts:** {counts}.\n{end}"
    return f"{beginning}{render_documents(kept)}{end}"


def _documents(review: Review) -> list[list[Section]]:
    """Return the documents of the comment. Of several stacks, these are the summary and the stacks with something to
    read, the most severe first."""
    first, *others = documents(review)
    chosen = [pair for pair in zip(review.stacks, others, strict=False) if weighs(pair[0])]
    return [first, *(document for _, document in sorted(chosen, key=lambda pair: _order(pair[0])))]


def _order(report: Report) -> tuple[int, ...]:
    counts = Counter(finding.level for finding in report.findings if not finding.waived)
    return -counts["high"], -counts["medium"], OUTCOMES.index(report.outcome)


def _fitting(made: Sequence[Sequence[Section]], room: int) -> tuple[list[list[Section]], Counter[str]]:
    """Return the documents with the blocks that fit, and how many are left out by the title of their section."""
    kept = [[list[Block]() for _ in document] for document in made]
    left_out = Counter[str]()
    for document, section, block in sorted(_parts(made), key=lambda part: _rank(made, part)):
        title = made[document][section].title
        there, beside = kept[document][section], kept[document]
        titles = [title] * (not there) + [made[document][0].title] * (not any(beside))
        cost = sum(size(f"\n\n### {prose(text)}") for text in titles)
        cost += sum(size(f"\n\n{text}") for text in merged([block]))
        if cost <= room:
            room -= cost
            there.append(block)
        else:
            left_out[title if section else "Headlines"] += 1
    return [list(_kept(*pair)) for pair in zip(made, kept, strict=True) if any(pair[1])], left_out


def _kept(document: Sequence[Section], kept: Sequence[Sequence[Block]]) -> Iterator[Section]:
    """Yield the first section, which has the title of the document, and the others that are not empty."""
    for number, (section, blocks) in enumerate(zip(document, kept, strict=True)):
        if number == 0 or blocks:
            yield Section(section.title, tuple(blocks))


def _parts(made: Sequence[Sequence[Section]]) -> Iterator[Part]:
    for number, document in enumerate(made):
        for place, section in enumerate(document):
            yield from ((number, place, block) for block in section.blocks)


def _rank(made: Sequence[Sequence[Section]], part: Part) -> int:
    document, section, block = part
    if section == 0:
        return HEADLINE if document else SUMMARY
    if isinstance(block, Item) and block.level and not any(row.label == "waived" for row in block.rows):
        return LEVELS[block.level]
    return SECTIONS.get(made[document][section].title, OTHERS)
