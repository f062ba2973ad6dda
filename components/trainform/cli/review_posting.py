"""`trainform review --post`: the variables of the run, before the previews begin, and the comments, after the report is shown."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.errors import CommandLineError
from trainform.terminal.lines import echo

if TYPE_CHECKING:
    from trainform.github.settings import Target
    from trainform.review.model import Review


class Forge(StrEnum):
    """Where a report can be posted."""

    GITHUB = "github"


class Comments(StrEnum):
    """One comment for all stacks, or one for each."""

    ONE = "one"
    EACH = "each"


class Posting(Struct, frozen=True):
    """How the report is posted. hidden: variables that hold the token, which no program of a preview gets."""

    target: Target
    comments: Comments
    hidden: frozenset[str]

    def post(self, review: Review) -> None:
        """Post the review, and say on standard error what was done. TrainformError if that fails."""
        from trainform.github.post import post

        whole = review.selection is not None  # it has every stack that the change touches
        done = post(review, self.target, each=self.comments is Comments.EACH, whole=whole)
        echo(*(f"trainform: {line}" for line in done), err=True)


def posting_of(forge: Forge | None, comments: Comments | None, details: str | None) -> Posting | None:
    """How to post; None: not at all. InputError with every variable that is missing or wrong."""
    if forge is None:
        extra = [name for name, given in (("--comments", comments), ("--details", details)) if given is not None]
        if extra:
            raise CommandLineError(f"{', '.join(extra)} has no meaning without --post", "add `--post github`")
        return None
    from trainform.github.settings import target_of, variables_with

    target = target_of(os.environ, details)
    chosen = Comments.ONE if comments is None else comments
    return Posting(target, chosen, variables_with(target.token, os.environ))
