"""A question on standard error, so that standard output stays what was asked for."""

from __future__ import annotations

import io

import pytest

from trainform.console.lines import ask


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
