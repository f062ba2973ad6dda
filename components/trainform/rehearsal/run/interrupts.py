"""Signals that end a rehearsal: everything that it made is removed first."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from trainform.signals import signal_handler

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """Inside the block, the first signal that would end the program raises KeyboardInterrupt, and later ones are
    ignored: a second Ctrl-C must not interrupt the cleaning up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    with signal_handler(ENDING, interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside the block, signals that would end the program are ignored."""
    with signal_handler(ENDING, signal.SIG_IGN):
        yield
