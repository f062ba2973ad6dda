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
from tests.review.forms.samples import EMPTY, RICH, USUAL
from tests.support.unseen import texts, unseen
from trainform.escaping import display_width
from trainform.review.forms import as_json, markdown, terminal
from trainform.review.forms.document import sections, shown
from trainform.review.model import EngineMessage, Report
from trainform.review.preview import CHANGED_MASK, MASKED, UNKNOWN

GOLDEN = ROOT / "tests" / "review" / "forms" / "golden"
FORMS: dict[str, Callable[[Report], str]] = {
    "txt": terminal.render,
    "md": markdown.render,
    "json": as_json.render,
}
TEXTS = {name: form for name, form in FORMS.items() if name != "json"}
HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](https://evil.example.com)", "![a](https://evil.example.com/p.png)",
    "@platform-team", "mail@evil.example.com", "https://evil.example.com/x", "www.evil.example.com", "#12", "ai/repo#12", "a|b|c", "`a`", "``",
    "`<b>`", "a`b <i>c</i> `d", "\\", "\\`<b>`", "a\n# Title\n\n- item", "</details><b>", "<!-- a", "&lt;b&gt; &#64;a", "$`x`$", "$$x$$",
    "**bold** _it_ ~~no~~", ":smile:", "1. one", "- one", "+ one", "===", "---", "> quoted", "\x1b[31mred\x07", "\u202eabc", "[x]: https://evil.example.com",
    "|", "\\|", "`|`<b>|", "<https://evil.example.com>", "```\nrm\n```", "    indented", "\ud800", "", " ", "[^1]", "- [ ] task", "0aa1bb2cc3dd4ee5aa",
]  # fmt: skip


def with_text(report: Any, text: str) -> Any:
    """The report with this text in the place of each text from outside."""
    if isinstance(report, dict):
        return {key: value if key in OURS else with_text(value, text) for key, value in report.items()}
    if isinstance(report, list):
        return [with_text(value, text) for value in report]
    return text if isinstance(report, str) else report


# What has one of a few values, or a number as text.
OURS = {"outcome", "kind", "category", "level", "verdict", "basis", "severity", "state", "amount", "percent", "hours", "prices_of"}  # fmt: skip


def hostile(text: str, report: Report = RICH) -> Report:
    """The report full of this text; half of a surrogate pair is written as JSON would write it. A message of the engine has as many lines
    as its text."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    data = with_text(report.model_dump(mode="json"), clean)
    for message in data["messages"]:
        message["text"] = " ".join(message["text"].splitlines())
    return Report.model_validate(data)


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "report"), [("rich", RICH), ("usual", USUAL), ("empty", EMPTY)], ids=lambda part: part if isinstance(part, str) else "")  # fmt: skip
def test_golden(name: str, report: Report, form: str, golden: Golden) -> None:
    golden(GOLDEN / f"{name}.{form}", FORMS[form](report))


@pytest.mark.parametrize("form", FORMS.values())
def test_the_same_report_has_the_same_bytes(form: Callable[[Report], str]) -> None:
    again = Report.model_validate_json(RICH.model_dump_json())
    assert form(again) == form(RICH)


def test_json_reads_back() -> None:
    assert Report.model_validate_json(as_json.render(RICH)) == RICH
    assert as_json.render(RICH).isascii()


def test_the_order_of_sections() -> None:
    titles = [section.title for section in sections(RICH)]
    assert titles == [
        "Review of sdxl-lora.prod", "What happens", "Findings", "Cost", "Capacity", "Changes", "In the cluster", "Waivers",
        "Messages of the engine", "Not checked", "Secrets",
    ]  # fmt: skip


def test_what_is_not_there_is_said() -> None:
    text = terminal.render(EMPTY)
    assert "Findings\n  None.\n" in text
    assert "Not checked\n  Nothing was left out.\n" in text
    assert text.endswith("  0 secret values are masked.\n")
    assert "0.00" not in text


def test_a_message_of_the_engine_has_its_lines() -> None:
    told = EngineMessage(severity="error", text="1 problem:\nhello.yaml:3: image = <b>\n  why: it has no tag\n")
    report = RICH.model_copy(update={"messages": [told]})
    assert "\n  error: 1 problem:\n    hello.yaml:3: image = <b>\n    why: it has no tag\n" in terminal.render(
        report, 80
    )
    assert "<b>" not in rendered(markdown.render(report)).tags
    assert "b" not in rendered(markdown.render(report)).tags


@pytest.mark.parametrize("width", [0, 40, 80, 100, 119, 500])
def test_terminal_is_never_wider(width: int) -> None:
    columns = max(terminal.NARROWEST, min(width, terminal.WIDEST))
    for text in ["x" * 300, "a b " * 200, "東京" * 200, *HOSTILE]:
        assert all(display_width(line) <= columns for line in terminal.render(hostile(text), width).split("\n"))


@pytest.mark.parametrize("form", FORMS.values())
@given(text=texts)
def test_no_form_shows_control_characters(form: Callable[[Report], str], text: str) -> None:
    shown_text = form(hostile(text))
    assert not unseen(shown_text.replace("\n", ""))


@given(
    st.one_of(
        st.sampled_from(HOSTILE), texts, st.text("<>[]()!@#|`*_\\\n -+=:/.a1&;~$", min_size=1, max_size=30)
    ).filter(str.strip)
)
def test_no_value_becomes_markup(text: str) -> None:
    report = hostile(text)
    expected, found = rendered(markdown.render(hostile("plain"))), rendered(markdown.render(report))
    assert found.tags == expected.tags
    assert found.attributes == []
    outside = " ".join(found.outside)
    assert not re.search(r"[@<>\[\]`|$\\]|#[0-9]|://|www\.", outside)


@pytest.mark.parametrize("text", HOSTILE)
def test_values_are_all_there(text: str) -> None:
    """What is shown can be read back: nothing is dropped to make it safe."""
    shown_text = rendered_text(markdown.prose(text))
    assert words(shown_text) == words("(empty)" if not text.strip(" ") else escaped_text(text))


def words(text: str) -> str:
    return "".join(text.replace("`", "").split())


def escaped_text(text: str) -> str:
    from trainform.escaping import escaped

    return escaped(text)


def rendered_text(text: str) -> str:
    class Data(HTMLParser):
        found = ""

        def handle_data(self, data: str) -> None:
            self.found += data

    parser = Data(convert_charrefs=True)
    parser.feed(MarkdownIt("commonmark").render(text))
    parser.close()
    return parser.found


@pytest.mark.parametrize("text", ["a|b", "\\|", "`|`", "|"])
def test_a_cell_stays_a_cell(text: str) -> None:
    rows = [line for line in markdown.render(hostile(text)).split("\n") if line.startswith("| ")]
    assert rows
    assert {row.count("|") for row in rows} == {6}


def test_destructive_parts_are_not_folded() -> None:
    text = markdown.render(RICH)
    folded = text[text.index("<details>") : text.index("</details>")]
    assert "delete PersistentVolumeClaim" in text
    assert "delete PersistentVolumeClaim" not in folded
    assert "create ConfigMap" in folded


def test_values_are_shown_as_json_and_cut() -> None:
    assert [shown(value) for value in ("3", 3, None, True, {"b": 1, "a": 2})] == ['"3"', "3", "not set", "true", '{"a": 2, "b": 1}']  # fmt: skip
    assert [shown(value) for value in (MASKED, CHANGED_MASK, UNKNOWN)] == [MASKED, CHANGED_MASK, UNKNOWN]
    assert shown("x" * 998) == '"' + "x" * 119 + "… (1000 characters)"


def test_a_long_text_is_bounded() -> None:
    report = hostile("x" * 1_000_000)
    for form in TEXTS.values():
        assert len(form(report)) < 400_000


def test_styles_name_levels_and_titles() -> None:
    found = {line.style for line in terminal.lines(RICH)}
    assert found == {"", "title", "high", "medium", "low"}
