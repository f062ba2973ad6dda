"""The page: what people, screen readers and browsers find in it, and that nothing in a value becomes more than a value."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.review.forms.samples import EMPTY, ONE_FAILED, RICH, SEVERAL, USUAL
from tests.review.forms.test_forms import HOSTILE, hostile
from tests.support.unseen import texts
from trainform.review.forms import html
from trainform.review.forms.document import sections, share
from trainform.review.forms.overview import FOLDED, documents
from trainform.review.model import ObjectChange, Report, Review
from trainform.review.picture import svg
from trainform.review.whole import review_of

ONE = review_of([RICH])
VOID = {"meta", "br"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "p", "ul", "li", "a", "span", "code",
    "div", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "article", "h3", "svg", "desc", "rect", "path", "text", "tspan",
}  # fmt: skip
ATTRIBUTES = {
    "aria-describedby", "lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "scope", "role", "tabindex", "aria-label", "aria-labelledby",
    "xmlns", "viewbox", "width", "height", "x", "y", "rx", "d",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and its text by element. Every element that is opened is closed."""

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


def test_what_a_browser_does_for_the_whole_page_it_does_once() -> None:
    """A style for each picture, and a selector that looks into each row (`:has`), made pages of 40 stacks take 20 seconds to open."""
    text = html.render(review_of([RICH.model_copy(update={"stack": f"sdxl-lora.{name}"}) for name in ("dev", "prod")]))
    found = Page(text)
    assert len(found.all("svg")) == 2
    assert len(found.all("style")) == 1
    assert svg.STYLE in text
    assert ":has" not in text


def many(report: Report, number: int) -> Review:
    """So many stacks, the first of which weighs, each with 500 objects."""
    objects = [
        ObjectChange(operation="create", kind="ConfigMap", name=f"settings-{place}", destructive=False)
        for place in range(500)
    ]
    each = report.model_copy(update={"objects": objects})
    return review_of([RICH, *(each.model_copy(update={"stack": f"hello-{place}.dev"}) for place in range(1, number))])


def test_of_many_stacks_those_are_folded_that_do_not_weigh() -> None:
    assert "article" in html.STYLE.partition("@media print")[2], "on paper all of it is laid out"
    few, found = (page(many(EMPTY, number)) for number in (html.MOST_UNFOLDED, html.MOST_UNFOLDED + 1))
    assert FOLDED not in few.said("summary")
    assert [part.get("class") for part in few.all("article")] == ["unfolded"] * 10
    assert found.said("summary").count(FOLDED) == 10
    assert [part.get("class") for part in found.all("article")] == ["unfolded", *[None] * 10]
    assert found.said("h2")[-11:] == [part[0].title for part in documents(many(EMPTY, 11))[1:]]


@pytest.mark.parametrize(("stacks", "shown"), [(1, 500), (20, 500), (40, 250), (200, 50), (5000, 50)])
def test_what_is_shown_of_each_of_many_stacks(stacks: int, shown: int) -> None:
    assert share(stacks) == shown


def test_what_is_left_out_of_many_stacks_is_counted() -> None:
    items = page(many(EMPTY, 200)).said("li")
    assert items.count("create ConfigMap settings-49") == 199
    assert items.count("create ConfigMap settings-50") == 0
    assert items.count("And 450 more: 450 create.") == 199


def test_rows_with_a_label_have_a_class() -> None:
    """By it the labels are beside the values, each as wide."""
    text = html.render(ONE)
    assert text.count('<li class="labelled"><span class="label">') == text.count('class="label"') > 0


def test_names_for_those_who_listen() -> None:
    found = page(ONE)
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len({*ids})
    for _, attributes in found.elements:
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in ids
    assert all(cell.get("scope") in ("col", "row") for cell in found.all("th"))
    assert all(part.get("aria-labelledby") for part in found.all("div") if part.get("tabindex") == "0")
    assert [part["role"] for part in found.all("svg")] == ["img"]
    assert "The picture in words" in found.said("summary")


@pytest.mark.parametrize("tag", ["section", "svg"])
def test_parts_of_several_stacks_have_names_of_their_own(tag: str) -> None:
    """Each begins with its stack; axe-core sees the same in a browser."""
    found = page(review_of([RICH, RICH.model_copy(update={"stack": "sdxl-lora.dev"})]))
    names = [f"{part['aria-labelledby']}".split() for part in found.all(tag)]
    of_stacks = [name for name in names if not name[0].startswith("part-0")]
    assert {name[0] for name in of_stacks} == {"part-1", "part-2"}
    assert all(len(name) == 2 for name in of_stacks)


def test_levels_are_said_in_words() -> None:
    assert {"high", "medium", "low"} <= {*page(ONE).said("span")}


def test_both_ways_of_a_system_have_colours() -> None:
    light, _, dark = html.STYLE.partition("@media (prefers-color-scheme: dark)")
    for name in ("ink", "quiet", "paper", "box", "rule", "link", "high", "medium", "low"):
        assert f"--{name}: #" in light
        assert f"--{name}: #" in dark


@given(st.one_of(st.sampled_from(HOSTILE), texts, st.text("<>&\"'`/=-! a", min_size=1, max_size=30)).filter(str.strip))
def test_no_value_becomes_markup(text: str) -> None:
    expected, found = page(hostile("plain", ONE_FAILED)), page(hostile(text, ONE_FAILED))
    for tag in TAGS - {"code", "tspan", "text", "title", "rect", "span", "li"}:
        assert len(found.all(tag)) == len(expected.all(tag))
    assert {tag for tag, _ in found.elements} <= TAGS
    assert {name for _, attributes in found.elements for name in attributes} <= ATTRIBUTES
    assert all((link["href"] or "").startswith("#part-") for link in found.all("a"))
