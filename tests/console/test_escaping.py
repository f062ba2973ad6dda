"""Characters that a terminal interprets or does not show are escaped."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.unseen import HALF, SAMPLES, unseen
from trainform.console.escaping import escaped, strip_invisible, strip_sequences


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\n  fix: x", r"a\n  fix: x"),
        ("a\r\tb\0", r"a\r\tb\x00"),
        ("admin\u202etxt.exe", r"admin\u202etxt.exe"),
        ("wor\u200bker", r"wor\u200bker"),
        ("\ufeffname", r"\ufeffname"),
        ("soft\u00adhyphen", r"soft\xadhyphen"),
        ("👩\u200d💻", r"👩\u200d💻"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("no\u00a0break", r"no\xa0break"),
        ("\u3164\ufe0f\u115f", r"\u3164\ufe0f\u115f"),
        ("für 東京 عربى [red] \\n", "für 東京 عربى [red] \\n"),
        ("", ""),
    ],
)
def test_visible_text_is_not_changed(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_every_character_is_visible_or_escaped() -> None:
    for number in range(sys.maxunicode + 1):
        shown = escaped(chr(number))
        assert shown == chr(number) or shown.isascii()
        assert not unseen(shown, allowed="")


@given(st.text())
def test_a_second_time_changes_nothing(text: str) -> None:
    assert escaped(escaped(text)) == escaped(text)
    assert not unseen(escaped(text), allowed="")


@given(st.text())
def test_strip_invisible(text: str) -> None:
    assert escaped(strip_invisible(text)) == strip_invisible(text)
    assert [character for character in text if escaped(character) == character] == [*strip_invisible(text)]


@pytest.mark.parametrize("sample", [*SAMPLES, HALF])
def test_the_samples_are_such(sample: str) -> None:
    assert escaped(sample) != sample
    assert escaped(sample).isascii()


def test_strip_sequences() -> None:
    assert strip_sequences("\x1b[1;31mred\x1b[0m \x1b[2K\x1b[3Aup\x1b[?25l") == "red up"
    assert strip_sequences("a\x1b]8;;https://example.com\x1b\\b\x1b]0;title\x07c\x1bP1$r0m\x1b\\d") == "abcd"
