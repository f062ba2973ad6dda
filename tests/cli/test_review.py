"""`trainform review` of previews that were made elsewhere: their forms, exit codes and what each says."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.reviewing import events, report_of, review
from tests.support import previews
from tests.support.leaks import GITHUB_TOKEN
from tests.support.repository import ROOT
from tests.support.unseen import unseen
from trainform.review.model import Review


def test_a_preview_from_a_file(preview: str) -> None:
    report = report_of(preview)
    assert (report.stack, report.environment, report.outcome) == ("dev", "dev", "findings")
    assert "TR-RESTART-1" in {finding.code for finding in report.findings}
    [cause] = [change for effect in report.effects for change in effect.causes]
    assert (cause.place.path, cause.before, cause.after) == ("roles.worker.env.NCCL_DEBUG", None, "INFO")
    assert ("cluster", "--no-cluster is set.") in {(part.what, part.reason) for part in report.not_checked}


def test_a_digest_from_standard_input(preview: str) -> None:
    text = previews.digest(*events())
    done = subprocess.run(
        [sys.executable, "-m", "trainform", "review", "--no-cluster", "--preview-json", "-", "--output", "json"],
        cwd=ROOT, input=text, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    [report] = Review.model_validate_json(done.stdout).stacks
    assert "preview" in {part.what for part in report.not_checked}
    assert {finding.code for finding in report_of(preview).findings} == {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 0), (["--fail-on", "restart"], 3), (["--fail-on", "incomplete"], 3), (["--fail-on", "data,drift"], 0)],
)
def test_exit_codes(words: list[str], code: int, preview: str) -> None:
    found, out, err = review("--preview-json", preview, *words)
    assert (found, err) == (code, "")
    assert out


def test_a_preview_that_failed_ends_with_1(tmp_path: Path) -> None:
    file = tmp_path / "failed.json"
    failed = previews.summary(result="failed")
    error = previews.diagnostic("error", f"the registry refuses {GITHUB_TOKEN}")
    file.write_text(previews.lines([*events(), error, failed, {"cancelEvent": {}}]), encoding="utf-8")
    code, out, _ = review("--preview-json", str(file), "--fail-on", "high", "--output", "json")
    assert code == 1
    assert json.loads(out)["outcome"] == "failed"
    assert GITHUB_TOKEN not in out


def test_the_length_of_the_run(preview: str) -> None:
    assert report_of(preview, "--duration", "1h30m").cost.hours in (None, "1.5")
    code, out, err = review("--preview-json", preview, "--duration", "soon")
    assert (code, out) == (2, "")
    assert "--duration = soon" in err
    code, out, err = review("--preview-json", preview, "--duration", "0h")
    assert (code, out) == (2, "")
    assert "--duration = 0h why: must be more than 0" in " ".join(err.split())


def test_outside_of_a_project(preview: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = review()
    assert (code, "there is no project here" in err) == (2, True)
    left_out = {part.what for part in report_of(preview).not_checked}
    assert left_out == {"files", "cluster", "limits"}


def test_nothing_in_a_terminal_is_obeyed(preview: str) -> None:
    _, out, _ = review("--preview-json", preview)
    assert not unseen(out.replace("\n", ""))


def test_colours_are_for_a_terminal_alone(preview: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    from trainform.cli.main import main

    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit):
        main(["review", "--no-cluster", "--preview-json", preview])
    assert "\x1b[1m" in stream.getvalue()
    monkeypatch.undo()
    assert "\x1b" not in review("--preview-json", preview)[1]
