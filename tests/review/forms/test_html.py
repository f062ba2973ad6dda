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
from trainform.review.forms.document import documents, sections
from trainform.review.model import Report, Review
from trainform.review.whole import review_of

ONE = review_of([RICH])
VOID = {"meta", "br"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "p", "ul", "li",
    "a", "span", "code",
    "div", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "article", "h3", "svg", "desc", "rect",
    "path", "text", "tspan",
}  # fmt: skip
ATTRIBUTES = {
    "aria-describedby", "lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "scope", "role",
    "tabindex", "aria-label", "aria-labelledby",
    "xmlns", "viewbox", "width", "height", "x", "y", "rx", "d",
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
    assert [len(found.all(tag)) for tag in ("h1", "main", "header", "nav")] == [1, 1, 1, 1]
    assert found.said("title")[0] == f"Review of {report.stack}"
    assert found.said("h2") == [section.title for section in sections(report)[1:]]


@pytest.mark.parametrize("review", [SEVERAL, ONE_FAILED], ids=["several", "one-failed"])
def test_several_stacks_are_one_page(review: Review) -> None:
    found = page(review)
    summary, *stacks = documents(review)
    assert {tag for tag, _ in found.elements} <= TAGS
    assert [len(found.all(tag)) for tag in ("h1", "main", "header", "nav")] == [1, 1, 1, 1]
    assert found.said("h1") == [f"Review of {len(stacks)} stacks"]
    assert found.said("h2") == [part.title for part in (*summary[1:], *(stack[0] for stack in stacks))]
    assert found.said("h3") == [part.title for stack in stacks for part in stack[1:]]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len({*ids})
    assert {f"{link['href']}"[1:] for link in found.all("a")} <= {*ids}


def test_nothing_is_loaded_and_nothing_runs() -> None:
    found = page(ONE)
    [policy] = [meta["content"] for meta in found.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    ids = {f"#{attributes['id']}" for _, attributes in found.elements if "id" in attributes}
    assert {link["href"] for link in found.all("a")} <= ids
    style = "".join(found.said("style"))
    assert "url(" not in style
    assert "@import" not in style


@given(st.one_of(st.sampled_from(HOSTILE), texts, st.text("<>&\"'`/=-! a", min_size=1, max_size=30)).filter(str.strip))
def test_no_value_becomes_markup(text: str) -> None:
    expected, found = page(hostile("plain", ONE_FAILED)), page(hostile(text, ONE_FAILED))
    for tag in TAGS - {"code", "tspan", "text", "title", "rect", "span", "li"}:
        assert len(found.all(tag)) == len(expected.all(tag))
    assert {tag for tag, _ in found.elements} <= TAGS
    assert {name for _, attributes in found.elements for name in attributes} <= ATTRIBUTES
    assert all((link["href"] or "").startswith("#part-") for link in found.all("a"))
