"""One pattern for many marks: most texts hold none of them, and are not searched any further."""

from __future__ import annotations

import re
from collections.abc import Iterable


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
