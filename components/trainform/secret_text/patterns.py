"""Patterns of the tables, and one for all marks: most texts hold no mark, and are not searched any further."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Pattern:
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


def pattern_of(marks: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches one of the marks wherever one is. It reads a text once, while a list of alternatives tries each of them at each
    character: marks that begin alike are one alternative."""
    return re.compile(_alternatives(sorted(set(marks))))


def _alternatives(marks: list[str]) -> str:
    if "" in marks:  # a mark ends here, and what is longer begins with it
        return ""
    beginnings = sorted({mark[0] for mark in marks})
    parts = [re.escape(first) + _alternatives([mark[1:] for mark in marks if mark[0] == first]) for first in beginnings]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
