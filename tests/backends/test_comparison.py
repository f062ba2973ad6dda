"""docs/backends.md says what the tables say."""

from __future__ import annotations

from tests.conftest import ROOT
from trainform.backends.comparison import comparison_page


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "backends.md").read_text() == comparison_page(), "run `make golden`"


def test_what_is_refused_as_a_whole_is_refused_in_its_parts() -> None:
    lines = [line for line in comparison_page().splitlines() if line.startswith("| `policies")]
    assert len(lines) > 1
    assert all("refused: are lifecycle policies of Volcano" in line for line in lines)
