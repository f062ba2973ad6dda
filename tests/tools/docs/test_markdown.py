"""Lines of generated pages are short, and what they say stays."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from tools.docs.markdown import MOST_CHARACTERS, item, page, paragraph, table

WORDS = st.lists(
    st.sampled_from(["a", "claim", "that", "survives", "`pulumi destroy -s STACK`", "(`keep: true`),"]), min_size=1
)


@given(WORDS)
def test_a_paragraph_has_short_lines_and_whole_code(words: list[str]) -> None:
    wrapped = paragraph(" ".join(words))
    assert all(len(line) <= MOST_CHARACTERS for line in wrapped.splitlines())
    assert all(line.count("`") % 2 == 0 for line in wrapped.splitlines())
    assert wrapped.replace("\n", " ") == " ".join(words)


@given(WORDS, st.integers(0, 2))
def test_an_item_stays_one_item(words: list[str], depth: int) -> None:
    first, *rest = item(" ".join(words), depth).splitlines()
    assert first.startswith("  " * depth + "- ")
    assert all(line.startswith("  " * depth + "  ") and line[2 * depth + 2] != " " for line in rest)


def test_a_table_keeps_bars_in_its_cells() -> None:
    assert table(("a", "b"), [("x|y", "z")]) == "| a | b |\n|---|---|\n| x\\|y | z |"


def test_a_page_ends_with_one_line_end() -> None:
    assert page("# A\n", "text") == "# A\n\ntext\n"
