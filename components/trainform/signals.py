"""A signal handler that is installed inside a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Any


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
