"""A comment is within its length, whole as Markdown and HTML, with the most severe first."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.review.forms.samples import CHEAPER, EMPTY, FAILED, RICH, USUAL
from trainform import defaults
from trainform.review.forms.text import comment, size
from trainform.review.model import Category, Finding, ObjectChange, Outcome, Report, Review
from trainform.review.whole import review_of

PAGE = "https://github.com/ml/training/actions/runs/100"
COMMIT = "4f1c0d2e9b7a6583c1d0e2f3a4b5c6d7e8f90123"
LIMIT = defaults.LONGEST_COMMENT
HOSTILE = [
    "@ml-team", "#12", "fixes #1", "ml/training#3", "GH-12", COMMIT, "<!-- x", "-->", "</details>", "<details>", "```",
    "~~~", "`", "|", "<img src=x>",
    "https://evil.example.com", "www.evil.example.com", "[a](b)", "$x$", "---", "## h", "\n", "\r\n", "\u202e",
    "изделие", "模型", "🚀", "a" * 3000,
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), max_size=6).map(" ".join)
SAMPLES = [USUAL, EMPTY, RICH, CHEAPER, FAILED]


def render(*reports: Report, limit: int = LIMIT) -> str:
    return comment(review_of(reports, project="training"), limit, PAGE)


def finding(level: str, number: int, text: str) -> Finding:
    return Finding.model_validate(
        {
            "code": f"TR-DATA-{number}", "category": Category.data, "level": level, "object": text, "field": text,
            "before": text, "after": None,
            "title": f"{level} finding {number} {text}", "why": text, "fix": text, "fingerprint": f"{number:016x}",
        }
    )  # fmt: skip


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    """Up to 200 stacks whose names and values are drawn from the same few texts."""
    words = draw(st.lists(texts, min_size=3, max_size=3))
    made = []
    for number in range(draw(st.sampled_from([1, 2, 7, 60, 200]))):
        sample = draw(st.sampled_from(SAMPLES)) if number < 7 else SAMPLES[number % 5]
        found = [finding(level, index, words[index % 3]) for index, level in enumerate(["low", "high", "medium"])]
        changed = [
            ObjectChange(operation="delete", kind="Job", name=words[0], destructive=True),
            ObjectChange(operation="update", kind="Job", name=words[1], destructive=False),
        ]
        more = {
            "stack": f"{words[2]}-{number}",
            "headline": words[number % 3],
            "findings": [*sample.findings, *found],
            "objects": changed,
        }
        made.append(sample.model_copy(update=more if number % 3 else {"stack": f"{words[2]}-{number}"}))
    return review_of(made, project=words[0])


MARKDOWN = MarkdownIt("commonmark").enable("table")
TAGS = re.compile(r"(<details>\n<summary>[^<>&]*</summary>|</details>)\n?")


def text_outside_code(text: str) -> str:
    """Return the text outside of code, as a parser reads it; fail at markup of a value and at an open fold."""
    marker, _, text = text.partition("\n")
    assert re.fullmatch(r"<!-- trainform-review [\w.-]* -->", marker)
    depth, outside, titles = 0, [], []
    for token in MARKDOWN.parse(text):
        if token.type == "html_block":
            assert TAGS.fullmatch(token.content), token.content
            depth += 1 if token.content.startswith("<details>") else -1
            assert depth >= 0
        else:
            assert token.type not in ("code_block", "fence")
        titles += [token.tag] * (token.type == "heading_open")
        for child in (token.children or []) if token.type == "inline" else []:
            assert child.type in ("text", "code_inline", "strong_open", "strong_close", "link_open", "link_close"), (
                child
            )
            assert child.type != "link_open" or child.attrs == {"href": PAGE}
            outside.append(child.content if child.type == "text" else " ")
    assert depth == 0
    assert set(titles) <= {"h2", "h3"}
    return "\n".join(outside)


@given(reviews(), st.sampled_from([LIMIT, 20_000, 4_000]))
@settings(max_examples=15, deadline=None)
def test_any_review_is_a_whole_comment_within_the_limit(review: Review, limit: int) -> None:
    text = comment(review, limit, PAGE)
    assert size(text) <= limit
    assert len(text.encode("utf-16-le")) // 2 <= limit
    text_outside_code(text)
    assert text.endswith(f"[The whole report]({PAGE})\n")


def test_the_heaviest_stack_comes_first_and_those_with_nothing_to_read_are_in_the_table() -> None:
    text = render(EMPTY, CHEAPER, RICH)
    assert text.index(f"## Review of {RICH.stack}:") < text.index(f"## Review of {CHEAPER.stack}:")
    assert f"## Review of {EMPTY.stack}:" not in text
    assert re.search(rf"^\| {EMPTY.stack} \|", text, re.MULTILINE)
    assert f"## Review of {EMPTY.stack}:" in render(EMPTY), "alone it has its report"


@pytest.mark.parametrize("limit", [LIMIT, 30_000])
def test_the_most_severe_stacks_are_kept_and_the_others_are_counted(limit: int) -> None:
    low = CHEAPER.model_copy(update={"outcome": Outcome.findings, "findings": [finding("low", 1, "")]})
    mild = [low.model_copy(update={"stack": f"mnist-{number}.dev"}) for number in range(200)]
    text = render(*mild, RICH, limit=limit)
    assert text.index(f"## Review of {RICH.stack}:") < text.index("## Review of mnist-0.dev:")
    [left_out] = re.findall(r"\*\*Left out: (\d+) more lines\. The whole report has them\.\*\*", text)
    assert int(left_out) > 100
    assert "<details>" not in text
