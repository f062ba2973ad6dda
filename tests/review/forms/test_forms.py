"""The forms of a report: their order, their width, and that nothing in a value becomes more than a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.conftest import ROOT, Golden
from tests.review.forms.samples import (
    EMPTY,
    NONE_TOUCHED,
    ONE_FAILED,
    ONE_TOUCHED,
    RICH,
    SELECTED,
    SEVERAL,
    SHARED,
    USUAL,
)
from tests.support.unseen import texts, unseen
from trainform.escaping import display_width
from trainform.review import stored
from trainform.review.forms import html, markdown, terminal
from trainform.review.forms.document import documents, sections
from trainform.review.model import Review
from trainform.review.whole import review_of

GOLDEN = ROOT / "tests" / "review" / "forms" / "golden"
FORMS: dict[str, Callable[[Review], str]] = {
    "txt": terminal.render,
    "md": markdown.render,
    "html": html.render,
    "json": stored.render,
}
ONE = review_of([RICH])
TEXTS = {name: form for name, form in FORMS.items() if name != "json"}
HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](https://evil.example.com)",
    "![a](https://evil.example.com/p.png)",
    "@platform-team", "mail@evil.example.com", "https://evil.example.com/x", "www.evil.example.com", "#12",
    "ai/repo#12", "a|b|c", "`a`", "``",
    "`<b>`", "a`b <i>c</i> `d", "\\", "\\`<b>`", "a\n# Title\n\n- item", "</details><b>", "<!-- a", "&lt;b&gt; &#64;a",
    "$`x`$", "$$x$$",
    "**bold** _it_ ~~no~~", ":smile:", "1. one", "- one", "+ one", "===", "---", "> quoted", "\x1b[31mred\x07",
    "\u202eabc", "[x]: https://evil.example.com",
    "|", "\\|", "`|`<b>|", "<https://evil.example.com>", "```\nrm\n```", "    indented", "\ud800", "", " ", "[^1]",
    "- [ ] task", "0aa1bb2cc3dd4ee5aa",
]  # fmt: skip


def with_text(data: Any, text: str) -> Any:
    """The data with this text in the place of each text from outside."""
    if isinstance(data, dict):
        return {key: value if key in OURS else with_text(value, text) for key, value in data.items()}
    if isinstance(data, list):
        return [with_text(value, text) for value in data]
    return text if isinstance(data, str) else data


# What has one of a few values, or a number as text.
OURS = {"id", "start", "end", "change", "outcome", "kind", "category", "level", "verdict", "basis", "severity", "state",
    "thing", "amount", "percent", "hours", "prices_of"}  # fmt: skip


def hostile(text: str, review: Review = ONE) -> Review:
    """The review full of this text; half of a surrogate pair is written as JSON would write it. A message of the engine
    has as many lines as its text."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    data = with_text(review.model_dump(mode="json"), clean)
    for message in (message for report in data["stacks"] for message in report["messages"]):
        message["text"] = " ".join(message["text"].splitlines())
    return Review.model_validate(data)


class Tags(HTMLParser):
    """The tags of a text, and what stands outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.outside: list[str] = []
        self._in_code = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_code = self._in_code or tag == "code"
        self.tags += [] if tag == "code" else [tag]
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag: str) -> None:
        self._in_code = self._in_code and tag != "code"

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        if not self._in_code:
            self.outside.append(data)


def rendered(text: str) -> Tags:
    return Tags(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


GOLDENS = {
    "rich": ONE,
    "usual": review_of([USUAL]),
    "empty": review_of([EMPTY]),
    "several": SEVERAL,
    "one-failed": ONE_FAILED,
    "shared": review_of([SHARED]),
    "selected": SELECTED,
    "one-touched": ONE_TOUCHED,
    "none-touched": NONE_TOUCHED,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GOLDENS)
def test_golden(name: str, form: str, golden: Golden) -> None:
    golden(GOLDEN / f"{name}.{form}", FORMS[form](GOLDENS[name]))


@pytest.mark.parametrize("form", FORMS.values())
@pytest.mark.parametrize("review", [ONE, SEVERAL], ids=["one", "several"])
def test_the_same_review_has_the_same_bytes(review: Review, form: Callable[[Review], str]) -> None:
    again = Review.model_validate_json(review.model_dump_json())
    assert form(again) == form(review)


@pytest.mark.parametrize("review", [ONE, SEVERAL], ids=["one", "several"])
def test_json_reads_back(review: Review) -> None:
    assert Review.model_validate_json(stored.render(review)) == review
    assert stored.render(review).isascii()


def test_several_stacks_have_a_summary_first() -> None:
    first, *others = documents(SEVERAL)
    assert [section.title for section in first] == ["Review of 3 stacks", "Stacks", "Cost in sum"]
    assert others == [sections(report) for report in SEVERAL.stacks]
    assert documents(ONE) == [sections(RICH)]


def test_a_stack_that_failed_hides_no_other() -> None:
    text = terminal.render(ONE_FAILED, 119)
    assert "  Outcome: failed (2 high, 1 medium, 1 low, 1 waived).\n" in text
    assert "The sum is not known, because the cost of sdxl-lora.prod, llama-sft.prod is not." in text
    assert "\n\n\nReview of sdxl-lora.prod\n" in text
    assert "\n\n\nReview of llama-sft.prod\n" in text


def test_what_is_not_there_is_said() -> None:
    text = terminal.render(review_of([EMPTY]))
    assert "Findings\n  None.\n" in text
    assert "Not checked\n  Nothing was left out.\n" in text
    assert text.endswith("  0 secret values are masked.\n")
    assert "0.00" not in text


@pytest.mark.parametrize("width", [0, 40, 80, 100, 119, 500])
@pytest.mark.parametrize(
    "review", [ONE, ONE_FAILED, SELECTED, review_of([SHARED])], ids=["one", "several", "selected", "shared"]
)
def test_terminal_is_never_wider(review: Review, width: int) -> None:
    columns = max(terminal.NARROWEST, min(width, terminal.WIDEST))
    for text in ["x" * 300, "a b " * 200, "東京" * 200, *HOSTILE]:
        shown_lines = terminal.render(hostile(text, review), width).split("\n")
        assert all(display_width(line) <= columns for line in shown_lines)


@pytest.mark.parametrize("form", FORMS.values())
@given(text=texts)
def test_no_form_shows_control_characters(form: Callable[[Review], str], text: str) -> None:
    shown_text = form(hostile(text, ONE_FAILED))
    assert not unseen(shown_text.replace("\n", ""))


@given(
    st.one_of(
        st.sampled_from(HOSTILE), texts, st.text("<>[]()!@#|`*_\\\n -+=:/.a1&;~$", min_size=1, max_size=30)
    ).filter(str.strip)
)
def test_no_value_becomes_markup(text: str) -> None:
    expected, found = (rendered(markdown.render(hostile(each, ONE_FAILED))) for each in ("plain", text))
    assert found.tags == expected.tags
    assert found.attributes == expected.attributes == []
    outside = " ".join(found.outside)
    assert not re.search(r"[@<>\[\]`|$\\]|#[0-9]|://|www\.", outside)


@pytest.mark.parametrize("form", TEXTS)
def test_the_release_that_a_stack_follows_is_said_at_the_head(form: str) -> None:
    released = RICH.model_copy(update={"release": "0a1b2c3d4e5f"})
    text = " ".join(re.sub("<[^>]*>|`", "", FORMS[form](review_of([released]))).split())
    assert (
        f"It is the experiment {RICH.experiment} in the environment {RICH.environment}, by release 0a1b2c3d4e5f."
        in text
    )
    assert "by release" not in FORMS[form](ONE)
