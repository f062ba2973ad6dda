"""The event loop of tests of resources."""

from __future__ import annotations

import asyncio

import pytest


@pytest.fixture(autouse=True)
def _event_loop() -> None:
    """Give Pulumi's outputs the loop that they expect: another test may have removed it with `asyncio.run`."""
    try:
        asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:
        asyncio.set_event_loop(asyncio.new_event_loop())
