"""Signals: whoever ends a rehearsal, and however, leaves nothing behind."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """Inside the block the first signal that ends a program raises KeyboardInterrupt, and later ones do nothing: a second Ctrl-C must
    not end the cleaning up. What is ignored already stays so (`nohup`). Outside of the main thread signals are somebody else's."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end a program do nothing inside the block."""
    with _handled(signal.SIG_IGN):
        yield


@contextlib.contextmanager
def _handled(handler: Any) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    chosen = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    for number in chosen:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in chosen.items():
            signal.signal(number, old)
