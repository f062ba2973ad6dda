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
from tests.review.forms.samples import CHEAPER, EMPTY, FAILED, ONE_FAILED, RICH, SEVERAL, USUAL, finding
from tests.support.unseen import texts, unseen
from trainform.console import terminal
from trainform.console.lines import display_width
from trainform.review import stored
from trainform.review.forms import html
from trainform.review.forms import text as forms
from trainform.review.forms.document import details, documents, short_image, summary
from trainform.review.model import Finding, Origin, Review, WaivedGate
from trainform.review.whole import review_of

GOLDEN = ROOT / "tests" / "review" / "forms" / "golden"
FORMS: dict[str, Callable[[Review], str]] = {
    "txt": forms.terminal,
    "full.txt": lambda review: forms.terminal(review, full=True),
    "md": forms.markdown,
    "html": html.render,
    "json": stored.render,
}
ONE = review_of([RICH])
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
OURS = {
    "id", "start", "end", "change", "key", "thing", "outcome", "kind", "category", "level", "verdict", "basis",
    "severity", "state", "amount", "percent", "hours", "prices_of",
}  # fmt: skip


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


GOLDENS = {"usual": review_of([USUAL]), "rich": ONE, "several": SEVERAL, "one-failed": ONE_FAILED}


@pytest.mark.parametrize(("name", "form"), [
    *((name, form) for name in GOLDENS for form in ("txt", "full.txt", "md")),
    ("several", "html"), ("rich", "html"), ("rich", "json"),
])  # fmt: skip
def test_golden(name: str, form: str, golden: Golden) -> None:
    text = FORMS[form](GOLDENS[name])
    golden(GOLDEN / f"{name}.{form}", text.partition("<body>\n")[2] if form == "html" else text)


def test_json_is_ascii_and_the_same_after_reading() -> None:
    text = stored.render(SEVERAL)
    assert text.isascii()
    assert stored.render(Review.model_validate_json(text)) == text


@pytest.mark.parametrize("width", [80, 100, 119])
def test_a_usual_change_takes_twelve_lines(width: int) -> None:
    assert forms.terminal(review_of([USUAL]), width).count("\n") <= 12


def test_long_lists_end_with_their_number() -> None:
    [notes] = [change for change in RICH.objects if change.name == "notes"]
    fields = notes.model_copy(update={"fields": notes.fields * 300})
    lines = forms.terminal(review_of([RICH.model_copy(update={"objects": [fields] * 600})]), full=True)
    assert "    And 100 more.\n" in lines
    assert "  And 100 more.\n" in lines


def test_several_stacks_have_an_overview_and_the_most_severe_first() -> None:
    first, *others = documents(review_of([EMPTY, CHEAPER, RICH, FAILED]))
    assert first[0].heading == "Review of 4 stacks: failed"
    assert others == [[summary(each), *details(each)] for each in (FAILED, RICH, CHEAPER, EMPTY)]
    assert documents(ONE) == [[summary(RICH), *details(RICH)]]
    short = forms.terminal(review_of([EMPTY, CHEAPER]))
    assert "Review of resnet.prod" in short, "a job is scaled"
    assert "Review of hello.dev" not in short, "the overview says that nothing changes"


@pytest.mark.parametrize(("found", "verdict"), [
    (RICH.findings, "findings, the owner of the run must agree"),
    ([finding(category="limits"), finding(category="cost")], "findings, the platform team and the lead must agree"),
    ([finding(waived=True)], "findings"),
])  # fmt: skip
def test_who_has_to_agree(found: list[Finding], verdict: str) -> None:
    assert summary(RICH.model_copy(update={"findings": found})).verdict == verdict


def test_an_image_is_shown_by_name_and_tag_or_short_digest() -> None:
    assert short_image("registry.example.com:5000/ai/train:2.3") == "train:2.3"
    assert short_image(f"ghcr.io/ai/train@sha256:{'4f7c9d1e' * 8}") == "train@sha256:4f7c9d1e4f7c"
    assert "Change  image: diffusers-lora:2.3 → diffusers-lora:2.4\n" in forms.terminal(review_of([USUAL]))


@pytest.mark.parametrize("width", [0, 40, 80, 100, 119, 500])
@pytest.mark.parametrize("review", [ONE, ONE_FAILED, SEVERAL], ids=["one", "failed", "several"])
def test_terminal_is_never_wider(review: Review, width: int) -> None:
    columns = max(terminal.NARROWEST, min(width, terminal.WIDEST))
    for text in ["x" * 300, "a b " * 200, "東京" * 200, *HOSTILE]:
        shown_lines = forms.terminal(hostile(text, review), width, full=True).split("\n")
        assert all(display_width(line) <= columns or len(line.split()) <= 3 for line in shown_lines)


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
    expected, found = (rendered(forms.markdown(hostile(each, ONE_FAILED))) for each in ("plain", text))
    assert found.tags == expected.tags
    assert found.attributes == expected.attributes == []
    outside = " ".join(found.outside)
    assert not re.search(r"[@<>\[\]`|$\\]|#[0-9]|://|www\.", outside)


@pytest.mark.parametrize("form", ["txt", "md", "html"])
def test_where_the_release_comes_from(form: str) -> None:
    waived = WaivedGate(gate="ran", by="lead", reason="a deadline")
    origin = Origin(
        release="0a1b2c3d4e5f", source="sdxl-lora.dev", environment="dev", by="ada", at="2026-11-20", passed=["clean"],
        waived=[waived],
    )  # fmt: skip
    released = RICH.model_copy(update={"origin": origin})
    text = " ".join(re.sub("<[^>]*>|`", "", FORMS[form](review_of([released]))).split())
    assert origin.text in text
