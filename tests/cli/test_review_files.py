"""The files that `trainform review -o` writes: earlier reports are replaced, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.reviewing import read, review
from tests.support.repository import ROOT
from trainform.review import stored
from trainform.review.forms import html, text


def test_several_files_at_once(preview: str, tmp_path: Path) -> None:
    expected = read("--preview-json", preview)
    made = [tmp_path / f"report.{suffix}" for suffix in ("md", "html", "json", "txt")]
    words = [word for file in made for word in ("-o", str(file))]
    code, out, err = review("--preview-json", preview, *words)
    assert (code, err) == (0, "")
    assert out.startswith("Review of dev: ")
    assert [file.read_text(encoding="utf-8") for file in made] == [
        text.markdown(expected),
        html.render(expected),
        stored.render(expected),
        text.terminal(expected, 100, full=True),
    ]


def test_an_earlier_report_is_replaced(preview: str, tmp_path: Path) -> None:
    made = [tmp_path / f"report.{suffix}" for suffix in ("md", "html", "json", "txt")]
    words = [word for file in made for word in ("-o", str(file))]
    made[0].touch()
    for _ in range(3):
        assert review("--preview-json", preview, *words)[0] == 0
        assert all(file.stat().st_size for file in made)
    made[2].write_text(made[0].read_text(encoding="utf-8"), encoding="utf-8")
    code, _, err = review("--preview-json", preview, *words)
    assert (code, err.count("it is not an earlier report in this form")) == (2, 1)


def test_files_are_refused_before_the_preview_and_all_at_once(tmp_path: Path) -> None:
    experiment = ROOT / "stacks" / "experiments" / "hello.yaml"
    before = experiment.read_bytes()
    link, folder, closed, good = (tmp_path / name for name in ("x.md", "dir.md", "closed", "ok1.md"))
    link.symlink_to(experiment)
    folder.mkdir()
    closed.mkdir(0o500)
    words = [word for name in (good, link, folder, closed / "a.md") for word in ("-o", str(name))]
    code, out, err = review("--preview-json", str(tmp_path / "there is no preview"), *words)
    assert (code, out) == (2, "")
    reasons = ["is a link to", "is a directory"]
    if os.geteuid() != 0:  # who may write everywhere is not held back
        reasons.append("its folder is not writable")
    assert [reason for reason in reasons if reason not in err] == []
    assert "there is no preview" not in err
    assert (experiment.read_bytes(), good.exists()) == (before, False)
