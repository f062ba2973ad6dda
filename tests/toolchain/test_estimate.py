"""Sizes of downloads as text."""

from __future__ import annotations

import pytest

from trainform.toolchain.download import total_size


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ([300_000_000, 112_000_000], "up to 412 MB"),
        ([None], "more than 0 MB"),
        ([300_000_000, None], "more than 300 MB"),
    ],
)
def test_the_size_of_all_downloads(sizes: list[int | None], text: str) -> None:
    assert total_size(sizes) == text
