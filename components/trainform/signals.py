"""Handlers of signals for the time of a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Any


@contextlib.contextmanager
def handled(numbers: Iterable[signal.Signals], handler: Any) -> Iterator[None]:
    """Inside the block the handler hears these signals. What is ignored already stays so (`nohup`). Outside of the main thread signals
    are somebody else's: nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    chosen = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    for number in chosen:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in chosen.items():
            signal.signal(number, old)
