"""The state of each pod of a rehearsal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, structs

PENDING, PREPARING, RUNNING = "Pending", "Init", "Running"
SUCCEEDED, FAILED, STOPPED = "Succeeded", "Failed", "Stopped"
ENDED = frozenset({SUCCEEDED, FAILED, STOPPED})


class PodRecord(Struct, frozen=True):
    """The state of a pod."""

    pod: str
    phase: str = PENDING
    exit_code: int | None = None
    """Exit code of its main container, None while that runs."""
    reason: str = ""
    """Reason for the phase, empty if the phase needs none."""
    restarts: int = 0
    """Restarts of its containers, plus the times that the pod was recreated."""
    last_line: str = ""
    """The last line that it wrote."""
    error: str = ""
    """The error in its termination message; empty if that has none."""
    began: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds for which the pod has run so far, or until its end; 0 before its start."""
        if self.began is None:
            return 0.0
        return (time.monotonic() if self.ended is None else self.ended) - self.began


class Records:
    """The records of all pods: the pods' threads write them, the display and waiting callers read them."""

    def __init__(self, pods: Iterable[str]) -> None:
        self._records = {pod: PodRecord(pod) for pod in pods}
        self._changed = threading.Condition()
        self._error: BaseException | None = None

    def all(self) -> tuple[PodRecord, ...]:
        """Return the record of every pod, in the order of the workload."""
        with self._changed:
            return tuple(self._records.values())

    def change(self, pod: str, **fields: Any) -> None:
        """Set fields of a pod's record."""
        with self._changed:
            self._records[pod] = structs.replace(self._records[pod], **fields)
            self._changed.notify_all()

    def end(self, pod: str, phase: str, exit_code: int | None, reason: str = "", error: str = "") -> None:
        """Record that a pod has ended, in one of the phases `ENDED`."""
        self.change(pod, phase=phase, exit_code=exit_code, reason=reason, error=error, ended=time.monotonic())

    def fail(self, error: BaseException) -> None:
        """Record an error of this program in a thread; `wait` raises it."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def wait(self, met: Callable[[tuple[PodRecord, ...]], bool], end: float) -> bool:
        """Wait until `met` holds, or the monotonic time `end`; return whether it holds. Raises `fail`'s error."""
        with self._changed:
            while not met(tuple(self._records.values())):
                if self._error is not None:
                    raise self._error
                left = end - time.monotonic()
                if left <= 0:
                    return False
                # a short time, so that a signal is handled soon
                self._changed.wait(min(left, 0.2))
            return True
