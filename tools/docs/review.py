"""`docs/reference/review.md`: the findings of a review, generated from the table of their kinds."""

from __future__ import annotations

from collections.abc import Iterator

from tools.docs.markdown import item, page, paragraph
from trainform.review.kinds import KINDS, Kind
from trainform.review.model import Category

INTRODUCTION = """\
Written by `make golden` from the table in `components/trainform/review/findings`.

[`trainform review`](../how-to/review.md) lists what a reviewer must know as findings. Each has a code that stays the \
same for ever, a \
level, an object, a field with the values before and after, why it matters, what to do, and a fingerprint, which \
changes with the \
object, the field and the values, and not with time. A finding may have another level than its kind where the review \
knows more.

Findings with codes that begin with `TF-` are those of [the environment's limits](limits.md), of the category \
`limits`: `high` where \
they stop `pulumi up`, `medium` where they are warnings. A result of another policy pack has the policy's name as its \
code."""


def review_page() -> str:
    """Markdown: every kind of finding by category."""
    return page(
        "# Findings of a review",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        *(block for category in Category for block in _category(category)),
    )


def _category(category: Category) -> Iterator[str]:
    kinds = [kind for kind in KINDS if kind.category is category]
    if kinds:
        yield f"## {category.value.capitalize()}"
        yield paragraph(f"`--fail-on {category.value}` stops at each of them.")
        yield from (block for kind in kinds for block in _kind(kind))


def _kind(kind: Kind) -> Iterator[str]:
    yield f"### {kind.code}"
    yield paragraph(f"{kind.title} Level: {kind.level}.")
    yield "\n".join([item(f"Why: {kind.why}"), item(f"Fix: {kind.fix}")])
