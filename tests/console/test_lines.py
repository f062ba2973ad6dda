"""Lines: what is in one stays in it, whatever the stream knows."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.unseen import HALF, texts, unseen
from trainform.console.lines import ask, echo, echo_json, escaped, strip_invisible, strip_sequences


@given(texts)
def test_line_ends_inside_a_line_are_escaped(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stream = io.StringIO()
        patch.setattr(sys, "stdout", stream)
        echo(text, "next")
    first, second, rest = stream.getvalue().split("\n")
    assert (second, rest) == ("next", "")
    assert not unseen(first)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("err", [False, True])
def test_streams_of_any_encoding(encoding: str, err: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr" if err else "stdout", io.TextIOWrapper(raw, encoding))
    echo(f"für 東京 \u202e{HALF}", err=err)
    text = raw.getvalue().decode(encoding)
    assert text.endswith("\\u202e\\ud800\n")
    assert ("für 東京" in text) == (encoding == "utf-8")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"), [("--version", 0), ("--help", 0), ("check nothing -e nowhere", 2), ("check", 2)]
)
def test_a_closed_stream(words: str, code: int, closed: str, tmp_path: Path) -> None:
    """A shell's `>&-`: there is nothing to write on, and the exit code says how it ended all the same."""
    command = f"{shlex.quote(sys.executable)} -m trainform {words} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


def test_json_is_not_changed_by_escaping(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"a\nb": "\x1b[31m\u202e\x7f für", "c": [1, None]}
    echo_json(data)
    text = capsys.readouterr().out
    assert json.loads(text) == data
    assert text.isascii()
    assert not unseen(text)


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


def test_strip_sequences() -> None:
    assert strip_sequences("\x1b[1;31mred\x1b[0m \x1b[2K\x1b[3Aup\x1b[?25l") == "red up"
    assert strip_sequences("a\x1b]8;;https://example.com\x1b\\b\x1b]0;title\x07c\x1bP1$r0m\x1b\\d") == "abcd"


@pytest.mark.parametrize(
    ("answer", "yes"),
    [("y\n", True), ("YES \n", True), ("\n", False), ("n\n", False), ("", False), ("yellow\n", False)],
)
def test_only_y_is_a_yes(
    answer: str, yes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert ask("Write release 0123456789abcdef0123? [y/N] ") is yes
    assert capsys.readouterr() == ("", "Write release 0123456789abcdef0123? [y/N] ")
