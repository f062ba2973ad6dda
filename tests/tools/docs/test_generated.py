"""The generated documentation matches the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.docs import generated
from tools.docs.generated import DOCS, GENERATED
from tools.docs.review_page import hash_page, recorded_hash, review_html, with_text, write_screenshot
from trainform.console.progress import SILENT

SCREENSHOT = DOCS / "figures" / "review.png"
MOST_BYTES = 150_000


@pytest.mark.parametrize("name", GENERATED)
def test_a_committed_file_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == GENERATED[name](), "run `make golden`"


def test_all_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "DOCS", tmp_path)
    for name in GENERATED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
    generated.write()
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == set(GENERATED)


def test_the_screenshot_shows_the_current_page() -> None:
    picture = SCREENSHOT.read_bytes()
    assert recorded_hash(picture) == hash_page(review_html()), "run `make golden` on a machine with a browser"
    assert len(picture) < MOST_BYTES


def test_the_text_of_a_screenshot_does_not_change_its_picture(tmp_path: Path) -> None:
    picture = SCREENSHOT.read_bytes()
    assert recorded_hash(with_text(picture[: picture.index(b"tEXt") - 4], "of-another-page")) == "of-another-page"
    (tmp_path / "review.png").write_bytes(picture)
    write_screenshot(tmp_path / "review.png", SILENT)  # needs no browser: it is of today
    assert (tmp_path / "review.png").read_bytes() == picture
