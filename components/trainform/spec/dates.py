"""The day that a text means."""

from __future__ import annotations

import calendar
import datetime
import re

_DAY = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})([Tt ].*)?")


def day_meant(text: str) -> str | None:
    """The day of a text as YAML has it, 2026-01-05: of one that the month does not have the last one, None where none is meant."""
    found = _DAY.fullmatch(text)
    year, month, day = (0, 0, 0) if found is None else map(int, found.groups()[:3])
    if not (year >= datetime.MINYEAR and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    return datetime.date(year, month, min(day, calendar.monthrange(year, month)[1])).isoformat()
