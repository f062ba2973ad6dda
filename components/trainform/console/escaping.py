"""Escapes for characters that a terminal interprets or does not show.

All printed text is passed through `escaped`, so that no text from outside can move the cursor, hide or reorder text,
or begin a line that looks like a line of trainform.
"""

from __future__ import annotations

import re

MASK = "[secret]"
"""Stands for a secret in everything that is shown. Where either side of a change is secret, both sides are masked."""
CHANGED_MASK = "[secret, changed]"
"""Stands for the new side of a secret of which a preview shows that it changes, although both sides are masked."""
UNKNOWN = "[known after apply]"
"""Stands for a value that the engine knows only at `up`."""

# For Unicode these are letters, marks or symbols, but they are invisible: fillers, joiners, selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d173-\U0001d17a\U000e0100-"
    "\U000e01ef]"
)
SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Control sequences of ECMA-48, which colour text, move the cursor or erase."""
# Its control strings, which hold addresses and titles: OSC, DCS and others.
_CONTROL_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)")


def escaped(text: str) -> str:
    """Return the text on one line, with invisible characters as Python's escapes. A second call changes nothing."""
    if is_visible(text):
        return text
    return "".join(character if is_visible(character) else _escape(character) for character in text)


def strip_invisible(text: str) -> str:
    """Return only the visible characters of the text, by which people and rules recognise a name."""
    return text if is_visible(text) else "".join(filter(is_visible, text))


def strip_sequences(text: str) -> str:
    """Return the text without control sequences (colours, cursor movements) and control strings (links, titles)."""
    return SEQUENCE.sub("", _CONTROL_STRING.sub("", text))


_OWN_SIGNS = str.maketrans("→…", "--")
"""Signs of trainform's own sentences, one column each: they need no import of rich, which measures other letters."""


def display_width(text: str) -> int:
    """Return the columns of a text in a terminal: East Asian letters have two, combining marks none."""
    if text.translate(_OWN_SIGNS).isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Return lines of whole words. A word that is longer than a line has its own line, so that it can be copied."""
    lines: list[str] = []
    room = 0
    for word in re.findall(r" *[^ ]+", escaped(text)):
        room -= display_width(word)
        if lines and room >= 0:
            lines[-1] += word
        else:
            lines.append(word.lstrip(" "))
            room = width - display_width(lines[-1])
    return lines


def is_visible(text: str) -> bool:
    """Return True if `escaped` changes nothing."""
    return text.isprintable() and _BLANK.search(text) is None


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
