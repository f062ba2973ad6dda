"""Versions of programs, read from their output."""

from __future__ import annotations

import re

Version = tuple[int, ...]


def parse_version(text: str) -> Version | None:
    """Return the first two numbers of `v3.259.0`, `v3.260.0-alpha.1` or `go1.26.1`, None for any other text."""
    match = re.match(r"\s*(?:v|go)?(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def format_version(version: Version | None) -> str:
    """Return the version for a message."""
    return "unknown" if version is None else ".".join(map(str, version))
