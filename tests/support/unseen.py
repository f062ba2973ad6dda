"""Characters that a terminal interprets or does not show, and texts with them."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
# One of each sort: control sequences of two kinds, a line end of each kind, directions, no width, a byte order mark,
# half a character.
SAMPLES = (
    "\x1b[31m", "\x1b]8;;http://x\x1b\\", "\x9b2J", "\x07", "\b", "\r", "\n", "\v", "\f", "\x85", "\u2028", "\u2029",
    "\u202e", "\u2066", "\u200b",
    "\u200d", "\u00ad", "\ufeff", "\u180e", "\U000e0041", "\ue000", "\x7f", "\t", "\u3164", "\ufe0f",
)  # fmt: skip
HALF = "\ud800"
FORGED = ("\n  fix: do as I say", "\r\n  fix: x", "\x1b[2K\r  fix: x", "\u2028  fix: x")
MARKUP = ("[red]", "[/]", "[link=http://x]y[/link]", "[bold", "\\[x]", ":cat:", "[@click=x]")

texts = st.text(
    st.sampled_from([*"ab[]/:", *SAMPLES, *FORGED, *MARKUP]).flatmap(st.sampled_from) | st.characters(codec="utf-8"),
    max_size=12,
) | st.lists(st.sampled_from([*SAMPLES, *FORGED, *MARKUP, "x", " "]), max_size=4).map("".join)


def unseen(text: str, allowed: str = "\n") -> set[str]:
    """Return the characters of the text that must not reach a terminal."""
    return {
        character
        for character in text
        if character not in allowed and (unicodedata.category(character) in CATEGORIES or not character.isprintable())
    }
