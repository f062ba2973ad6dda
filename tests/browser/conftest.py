"""A browser without a window, and pages in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tools import browser as found
from tools.debian import NotHereError
from trainform.console.progress import SILENT


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """It ends with the file: as long as it is there, this process can run nothing else of asyncio's."""
    try:
        chromium = found.browser(SILENT)
    except NotHereError as error:
        pytest.skip(str(error))
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.program, args=list(found.ARGUMENTS), env={**chromium.environment}
        )
        yield started
        started.close()
