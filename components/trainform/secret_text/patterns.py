"""Patterns of the tables, and one for all marks: most texts hold no mark, and are not searched any further."""

from __future__ import annotations

import functools
import re

from msgspec import Struct


class Pattern(Struct, frozen=True, dict=True):
    """A pattern that is compiled when a text is searched for it: most commands see no text with a mark, and to compile the patterns of all rows would
    take longer than to check an experiment."""

    text: str
    flags: re.RegexFlag = re.NOFLAG

    @functools.cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern for searches."""
        return re.compile(self.text, self.flags)


def any_case(text: str) -> Pattern:
    """A pattern for letters of either case."""
    return Pattern(text, re.IGNORECASE)


class Marks(Struct, frozen=True, dict=True):
    """Texts of which at least one is in each text with a secret. The pattern of them all is compiled when the first text is searched, as above."""

    texts: tuple[str, ...]

    @functools.cached_property
    def compiled(self) -> re.Pattern[str]:
        """Matches one of the marks wherever one is. It reads a text once, while a list of alternatives tries each of them at each character: marks that
        begin alike are one alternative."""
        return re.compile(_alternatives(sorted(set(self.texts))))


def _alternatives(marks: list[str]) -> str:
    if "" in marks:  # a mark ends here, and what is longer begins with it
        return ""
    beginnings = sorted({mark[0] for mark in marks})
    parts = [re.escape(first) + _alternatives([mark[1:] for mark in marks if mark[0] == first]) for first in beginnings]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
