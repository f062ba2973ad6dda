"""Signals: whoever ends a rehearsal, and however, leaves nothing behind."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is KeyboardInterrupt by itself
DEAF_TO = (signal.SIGINT, *ENDING)


@contextlib.contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt inside the block. Outside of the main thread signals are somebody else's."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(dict.fromkeys(ENDING, interrupt)):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A second Ctrl-C must not end the cleaning up."""
    with _handled(dict.fromkeys(DEAF_TO, signal.SIG_IGN)):
        yield


@contextlib.contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
