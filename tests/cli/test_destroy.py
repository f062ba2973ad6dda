"""`trainform destroy` with options that lead elsewhere. On real clusters it runs in `tests/engine/test_clusters.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

ELSEWHERE = "trainform: {} leads Pulumi to another stack"


@pytest.mark.parametrize(
    "options",
    [("-s", "bert.dev"), ("-sbert.dev",), ("-ys", "bert.dev"), ("--stack", "bert.dev"), ("--stack=bert.dev",), ("-C", "/srv/vision"), ("--cwd=/srv/vision",)],
)  # fmt: skip
def test_the_stack_that_is_compared_is_the_one_that_is_destroyed(options: tuple[str, ...]) -> None:
    code, _, err = run("destroy", "bert.prod", "--", "--yes", *options)
    assert code == 2
    assert err.splitlines() == [
        ELSEWHERE.format(options[0]),
        "  fix: name the stack before `--`, in its own project",
    ]


@pytest.mark.parametrize(
    "options", [("--yes", "--skip-preview"), ("-yf",), ("-mserver is gone",), ("--show-sames",), ("-p", "4")]
)
def test_other_options_are_for_pulumi(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("destroy", "bert.prod", "--", *options)
    assert code == 2
    assert "there is no project here" in err
