"""The page of a review in a real browser: wide and narrow, light and dark, with and without script, on paper and by
ear."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped] # without types of its own
from playwright.sync_api import Browser, Page

from tests.browser.samples import REVIEWS
from trainform.review.forms import html

Scheme = Literal["light", "dark"]
WIDTHS = (400, 1400)  # CSS pixels: a telephone, a wide screen
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
# Every page in both widths and both schemes; no colour depends on the width.
WAYS = [(name, *way) for name in REVIEWS for way in zip(WIDTHS, SCHEMES, strict=True)]
OPEN = "document.querySelectorAll('details').forEach(part => part.open = true)"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
PAPER = 718  # CSS pixels of a sheet of A4 between its margins
OUTSIDE_OF_BOXES = """() => [...document.querySelectorAll('body *')].filter(part => {
    const clipped = part.closest('.wide') && !part.matches('.wide');
    return !clipped && part.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
}).map(part => part.outerHTML.slice(0, 80))"""
CUT = """() => [...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth + 1).map(
    box => box.getAttribute('aria-label') + ' ' + box.scrollWidth + ' of ' + box.clientWidth)"""
pages = pytest.mark.parametrize("name", REVIEWS)
shown = pytest.mark.shows("the page of a review opens in a browser")
rest = pytest.mark.proof("every kind of report, in both widths and schemes; `make test` opens one page")


@contextlib.contextmanager
def opened(browser: Browser, folder: Path, name: str, **options: Any) -> Iterator[Page]:
    """Yield the page of a report, opened as a file. Nothing else is loaded, and nothing is said on the console."""
    file = folder / f"{name}.html"
    file.write_text(html.render(REVIEWS[name]), encoding="utf-8")
    wrong: list[str] = []
    with browser.new_context(**options) as context:
        page = context.new_page()
        page.on("request", lambda request: wrong.append(request.url) if request.url != file.as_uri() else None)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.goto(file.as_uri())
        yield page
    assert not wrong


def viewport(width: int) -> dict[str, Any]:
    return {"viewport": {"width": width, "height": 900}}


def check(page: Page) -> None:
    """What holds for every page: nothing is wider than it, and axe-core finds nothing."""
    page.evaluate(OPEN)
    assert page.evaluate(FITS), page.evaluate(OUTSIDE_OF_BOXES)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@shown
def test_a_page(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, "replaced", **viewport(WIDTHS[0])) as page:
        check(page)


@rest
@pytest.mark.parametrize(("name", "width", "scheme"), WAYS)
def test_pages(browser: Browser, tmp_path: Path, name: str, width: int, scheme: Scheme) -> None:
    with opened(browser, tmp_path, name, color_scheme=scheme, **viewport(width)) as page:
        check(page)


@rest
@pages
def test_the_text_is_the_same_without_script(browser: Browser, tmp_path: Path, name: str) -> None:
    texts = []
    for script in (True, False):
        with opened(browser, tmp_path, name, java_script_enabled=script, **viewport(WIDTHS[0])) as page:
            # what is not laid out yet has no inner text, and how far a browser is depends on the machine
            page.evaluate(OPEN)
            texts.append(page.inner_text("body"))
            assert page.evaluate(FITS)
    assert texts[0] == texts[1]
    assert REVIEWS[name].stacks[0].headline[:5] in texts[0]


@rest
@pages
def test_on_paper_nothing_is_cut(browser: Browser, tmp_path: Path, name: str) -> None:
    with opened(browser, tmp_path, name, **viewport(PAPER)) as page:
        page.emulate_media(media="print")
        assert page.evaluate(CUT) == []
        for part in page.locator("details > ul").all():
            assert part.is_visible(), "nobody can unfold paper"
        assert page.evaluate(FITS), page.evaluate(OUTSIDE_OF_BOXES)
