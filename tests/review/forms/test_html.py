"""The page: what people, screen readers and browsers find in it, and that nothing in a value becomes more than a
value."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.review.forms.samples import EMPTY, ONE_FAILED, RICH, SEVERAL, USUAL
from tests.review.forms.test_forms import HOSTILE, hostile
from tests.support.unseen import texts
from trainform.review.forms import html
from trainform.review.forms.document import details, summary, weighs
from trainform.review.model import Report, Review
from trainform.review.whole import review_of

ONE = review_of([RICH])
VOID = {"meta", "br"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "article", "div", "h1", "h2", "h3", "p", "a", "b", "i",
    "span", "code", "ul", "li", "dl", "dt", "dd", "table", "tr", "th", "td", "details", "summary", "svg", "rect",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "class", "id", "role", "tabindex", "aria-label",
    "aria-labelledby", "aria-hidden", "href", "viewbox", "preserveaspectratio", "width", "height", "x",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and its text by element. Every element that is opened is
    closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == tag]

    def classes(self) -> list[list[str]]:
        return [str(attributes["class"]).split() for _, attributes in self.elements if "class" in attributes]

    def said(self, tag: str) -> list[str]:
        return [text for found, text in self.texts if found == tag]


def page(review: Review) -> Page:
    return Page(html.render(review))


@pytest.mark.parametrize("report", [RICH, USUAL, EMPTY], ids=["rich", "usual", "empty"])
def test_what_a_page_is_made_of(report: Report) -> None:
    found = page(review_of([report]))
    assert {tag for tag, _ in found.elements} <= TAGS
    assert {name for _, attributes in found.elements for name in attributes} <= ATTRIBUTES
    assert found.all("html") == [{"lang": "en"}]
    assert [len(found.all(tag)) for tag in ("h1", "main", "article")] == [1, 1, 1]
    assert found.said("title") == [summary(report).heading]
    assert found.said("h2") == [section.title for section in details(report) if section.title != "Findings"]
    assert found.said("dt") == ["Run", "Data", "Cost", "Queue"]
    assert len(found.all("summary")) == len(report.findings) + 1
    boxes = [words for words in found.classes() if "box" in words]
    assert len(boxes) >= sum(len(picture.nodes) for picture in report.pictures), "a claim may be in several roles"


@pytest.mark.parametrize("review", [SEVERAL, ONE_FAILED], ids=["several", "one-failed"])
def test_several_stacks_are_one_page(review: Review) -> None:
    found = page(review)
    assert {tag for tag, _ in found.elements} <= TAGS
    assert [len(found.all(tag)) for tag in ("h1", "main", "table")] == [1, 1, 1]
    assert len(found.all("article")) == sum(map(weighs, review.stacks))
    shown = sum(map(weighs, review.stacks))
    assert [link["href"] for link in found.all("a")] == [f"#stack-{place + 1}" for place in range(shown)]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len({*ids})
    assert {f"{link['href']}"[1:] for link in found.all("a")} <= {*ids}


def test_the_picture_shows_what_begins_and_what_ends() -> None:
    text = html.render(ONE)
    dataset = '<div class="use removed"><span class="label">at /data</span><div class="box removed">'
    assert dataset in text
    assert '<div class="use same"><span class="label">at /mnt/output</span><div class="box same">' in text
    assert '<span class="label">pods</span>4 → 8' in text
    assert "diffusers-lora:2.3</span> → " in text, "an image has its name and tag"


def test_nothing_is_loaded_and_nothing_runs() -> None:
    found = page(ONE)
    [policy] = [meta["content"] for meta in found.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    style = "".join(found.said("style"))
    assert "url(" not in style
    assert "@import" not in style


@given(st.one_of(st.sampled_from(HOSTILE), texts, st.text("<>&\"'`/=-! a", min_size=1, max_size=30)).filter(str.strip))
def test_no_value_becomes_markup(text: str) -> None:
    expected, found = page(hostile("plain", ONE_FAILED)), page(hostile(text, ONE_FAILED))
    for tag in TAGS - {"code", "span", "li", "ul"}:
        assert len(found.all(tag)) == len(expected.all(tag))
    assert {tag for tag, _ in found.elements} <= TAGS
    assert {name for _, attributes in found.elements for name in attributes} <= ATTRIBUTES
