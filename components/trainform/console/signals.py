"""Signal handlers that are installed inside a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

# Signals that end a program: SIGTERM of `timeout` and CI systems, SIGHUP of a closed terminal.
ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signal_handler(numbers: Iterable[signal.Signals], handler: Any) -> Iterator[None]:
    """Install a handler for these signals inside the block. Signals that are ignored already (`nohup`) stay ignored.

    Outside of the main thread nothing changes, since Python allows signal handlers in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in numbers}
    replaced = {number: old for number, old in previous.items() if old != signal.SIG_IGN}
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in replaced.items():
            signal.signal(number, old)


@contextlib.contextmanager
def exit_on_termination() -> Iterator[None]:
    """Raise `SystemExit` for signals that end a program, so that the block stops the processes it started."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with signal_handler(ENDING, unwind):
        yield


@contextlib.contextmanager
def signals_delayed() -> Iterator[None]:
    """Delay signals until the end of the block. While a process starts, they would leave it running."""
    early: list[int] = []
    with signal_handler([signal.SIGINT, *ENDING], lambda number, frame: early.append(number)):
        yield
    if early:
        signal.raise_signal(early[0])
