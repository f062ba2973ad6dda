"""`docs/reference/review.md`: the findings of a review, generated from the table of their kinds."""

from __future__ import annotations

from collections.abc import Iterator

from tools.docs.markdown import page, paragraph, table
from trainform.review.kinds import KINDS
from trainform.review.model import Category

INTRODUCTION = """\
Written by `make golden` from `components/trainform/review/findings/kinds.toml`.

[`trainform review`](../how-to/review.md) prints for each finding why it matters and what to do. A code keeps its \
meaning. The level is the usual one: a kept claim lowers it, [a high cost](../how-to/set-prices.md) raises \
it. `--fail-on CATEGORY` stops at each finding of a category.

Codes that begin with `TF-` are [the environment's limits](limits.md), of the category `limits`: `high` where they \
stop `pulumi up`, `medium` where they are warnings. A finding of another policy pack has the policy's name as its \
code. `stacks/schemas/review.schema.json` describes the fields of the JSON."""


def review_page() -> str:
    """Markdown: a table of findings for each category."""
    return page(
        "# Findings of a review",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        *(block for category in Category for block in _category(category)),
    )


def _category(category: Category) -> Iterator[str]:
    rows = [(f"`{kind.code}`", kind.level, kind.title.removesuffix(".")) for kind in KINDS if kind.category is category]
    if rows:
        yield f"## {category.value.capitalize()}"
        yield table(("code", "level", "when"), rows)
