"""The files that `trainform review -o` writes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.reviewing import read, review
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


def test_files_are_refused_before_the_preview_and_all_at_once(tmp_path: Path) -> None:
    folder, good = tmp_path / "dir.md", tmp_path / "ok1.md"
    folder.mkdir()
    words = [word for name in (good, folder, tmp_path / "x.pdf") for word in ("-o", str(name))]
    code, out, err = review("--preview-json", str(tmp_path / "there is no preview"), *words)
    assert (code, out) == (2, "")
    assert [reason for reason in ("is a directory", "does not say the form") if reason not in err] == []
    assert "there is no preview" not in err
    assert not good.exists()
