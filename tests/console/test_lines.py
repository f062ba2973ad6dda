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

from tests.support.unseen import HALF, texts, unseen
from trainform.console.lines import echo, echo_json, output_stream


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


def test_a_redirected_stream_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_stream() is sys.stdout
    assert output_stream(err=True) is sys.stderr
