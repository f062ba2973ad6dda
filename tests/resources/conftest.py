"""The event loop of tests of resources."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _event_loop() -> Iterator[None]:
    """Give Pulumi's outputs the loop that they expect, and close it: `asyncio.run` of another test would lose it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
