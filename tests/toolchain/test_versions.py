"""What programs say of their versions."""

from __future__ import annotations

import pytest

from trainform.toolchain.versions import Version, parse_version, written


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
def test_versions_are_read(text: str, version: Version | None) -> None:
    assert parse_version(text) == version


def test_versions_in_messages() -> None:
    assert (written((1, 26)), written(None)) == ("1.26", "of unknown version")
