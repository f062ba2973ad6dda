"""Values in reports for people."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.console.lines import MASK
from trainform.console.sections import shown_change

LINES = [f"echo step {number}" for number in range(40)]


def text(*changed: tuple[int, str]) -> str:
    lines = [*LINES]
    for number, line in changed:
        lines[number] = line
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (2, 3, "2 → 3"),
        (None, "a\nb", 'not set → "a\\nb"'),
        (text(), text((7, "echo seven")), '"echo step 7" → "echo seven" (line 8)'),
        (
            text(),
            text((7, "a"), (9, "b")),
            '"echo step 7\\necho step 8\\necho step 9" → "a\\necho step 8\\nb" (line 8)',
        ),
        ("a\nb\n", "a\nb\nc\n", '"" → "c" (line 3)'),
        ("a\na\n", "a\na\na\n", '"" → "a" (line 3)'),
        (MASK, "a\nb", f'{MASK} → "a\\nb"'),
        ("a" * 9, "a" * 8 + "b", '"aaaaaaaaa" → "aaaaaaaab"'),
    ],
)
def test_a_change_shows_what_differs(before: Any, after: Any, expected: str) -> None:
    """Show only the lines of a file that differ: its beginning is the same on both sides."""
    assert shown_change(before, after, 6 if len(str(before)) == 9 else 60) == expected
