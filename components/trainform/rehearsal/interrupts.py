"""Signals: whoever ends a rehearsal, and however, leaves nothing behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from trainform.signals import handled

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """Inside the block the first signal that ends a program raises KeyboardInterrupt, and later ones do nothing: a second Ctrl-C must
    not end the cleaning up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    with handled(ENDING, interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end a program do nothing inside the block."""
    with handled(ENDING, signal.SIG_IGN):
        yield
