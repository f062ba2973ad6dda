"""The page of a review that the documents show, `docs/figures/review.html`, and its screenshot,
`docs/figures/review.png`.

The screenshot has in its text the hash of the page that it was taken of, so that a test can tell without a browser
whether it is of today.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.review.screen import shown_review
from tools.browser import ARGUMENTS, browser
from trainform.console.progress import Progress
from trainform.review.forms import html

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXT, END = b"tEXt", b"IEND"
KEYWORD = b"trainform-page"
WIDTH, HEIGHT = 1000, 640  # the first screen of the page: what happens, and the worst finding


def review_html() -> str:
    """Return the page of the review that README shows."""
    return html.render(shown_review())


def recorded_hash(picture: bytes) -> str:
    """Return the hash of the page that the screenshot records, empty if there is none."""
    return next(
        (data.partition(b"\0")[2].decode() for kind,
            data in _chunks(picture) if kind == TEXT and data.startswith(KEYWORD)),
        "",
    )  # fmt: skip


def hash_page(page: str) -> str:
    """Return the hash that a screenshot of this page records."""
    return hashlib.sha256(page.encode()).hexdigest()


def write_screenshot(file: Path, progress: Progress) -> None:
    """Take the screenshot anew, unless it is of today's page. `NotHereError` where it is not, and there is no
    browser."""
    page = review_html()
    if file.exists() and recorded_hash(file.read_bytes()) == hash_page(page):
        return
    file.write_bytes(with_text(_taken(page, progress), hash_page(page)))


def with_text(picture: bytes, text: str) -> bytes:
    """Return the PNG with this text in it."""
    chunks = [chunk for chunk in _chunks(picture) if chunk[0] != END]
    return SIGNATURE + b"".join(
        _chunk(*chunk) for chunk in [*chunks, (TEXT, KEYWORD + b"\0" + text.encode()), (END, b"")]
    )


def _taken(page: str, progress: Progress) -> bytes:
    from playwright.sync_api import (
        sync_playwright,  # imported here only: whoever writes the other pages needs no browser
    )

    chromium = browser(progress)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.program, args=list(ARGUMENTS), env={**chromium.environment}
        )
        shown = started.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        shown.set_content(page)
        taken = shown.screenshot()
        started.close()
    return taken


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the parts of a PNG, each with its kind."""
    place = len(SIGNATURE)
    while place < len(picture):
        (length,) = struct.unpack_from(">I", picture, place)
        yield picture[place + 4 : place + 8], picture[place + 8 : place + 8 + length]
        place += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
