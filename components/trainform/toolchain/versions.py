"""Versions of programs, as they say them themselves."""

from __future__ import annotations

import re

Version = tuple[int, ...]


def parse_version(text: str) -> Version | None:
    """`v3.259.0`, `v3.260.0-alpha.1` and `go1.26.1` as their first two numbers."""
    match = re.match(r"\s*(?:v|go)?(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def written(version: Version | None) -> str:
    """The version in a message."""
    return "of unknown version" if version is None else ".".join(map(str, version))
