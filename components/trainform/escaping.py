"""What a terminal obeys or does not show, as text: control characters, overrides of direction, characters without width.

Everything that is printed comes through `escaped`, so that no key, value, name or message of somebody else can move the cursor, hide or
reorder text, or begin a line that looks like one of ours.
"""

from __future__ import annotations

import re

# Unicode calls them letters, marks or symbols (`isprintable`), and shows nothing: fillers, joiners and selectors of variants.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)
SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""What colours text, moves the cursor or erases (ECMA-48's control sequences)."""


def escaped(text: str) -> str:
    """The text on one line: what cannot be seen is written as Python writes it (`\\n`, `\\x1b`, `\\u202e`). Nothing changes at a second time."""
    if _is_visible(text):
        return text
    return "".join(character if _is_visible(character) else _spelled(character) for character in text)


def without_invisible(text: str) -> str:
    """Only what can be seen of the text: by it a person, or a rule, knows a name."""
    return text if _is_visible(text) else "".join(filter(_is_visible, text))


def without_sequences(text: str) -> str:
    """The text of a program's output, without its colours and movements of the cursor."""
    return SEQUENCE.sub("", text)


def _is_visible(text: str) -> bool:
    return text.isprintable() and _BLANK.search(text) is None


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()
