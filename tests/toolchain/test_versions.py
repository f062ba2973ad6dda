"""Versions of programs."""

from __future__ import annotations

import pytest

from trainform.toolchain.system import Version, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.259.0\n", (3, 259)),
        ("3.260.0-alpha.x", (3, 260)),
        ("go1.26.1\n", (1, 26)),
        ("", None),
        ("pulumi", None),
        ("devel +1.26", None),
    ],
)
def test_parse_version(text: str, version: Version | None) -> None:
    assert parse_version(text) == version
