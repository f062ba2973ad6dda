"""How far each pod is."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

PENDING, PREPARING, RUNNING = "Pending", "Init", "Running"
SUCCEEDED, FAILED, STOPPED = "Succeeded", "Failed", "Stopped"
ENDED = frozenset({SUCCEEDED, FAILED, STOPPED})


@dataclasses.dataclass(frozen=True)
class PodRecord:
    """A pod's state. exit_code: of its main container, None while that has not ended. seconds: since the pod was started, to its
    end. reason: why it is where it is, "" where the phase says it all. restarts: of its containers. last_line: what it wrote last.
    """

    pod: str
    phase: str = PENDING
    exit_code: int | None = None
    reason: str = ""
    restarts: int = 0
    last_line: str = ""
    began: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has run so far."""
        if self.began is None:
            return 0.0
        return (time.monotonic() if self.ended is None else self.ended) - self.began


class Records:
    """The records of all pods, written by their threads and read by the display and by whoever waits."""

    def __init__(self, pods: Iterable[str]) -> None:
        self._records = {pod: PodRecord(pod) for pod in pods}
        self._changed = threading.Condition()
        self._trouble: BaseException | None = None

    def all(self) -> tuple[PodRecord, ...]:
        """Every pod, in the order of the stage."""
        with self._changed:
            return tuple(self._records.values())

    def get(self, pod: str) -> PodRecord:
        """One pod."""
        with self._changed:
            return self._records[pod]

    def change(self, pod: str, **fields: Any) -> None:
        """Set fields of a record."""
        with self._changed:
            self._records[pod] = dataclasses.replace(self._records[pod], **fields)
            self._changed.notify_all()

    def begin(self, pod: str) -> None:
        """A pod is made, for the first time or anew."""
        with self._changed:
            self._records[pod] = PodRecord(pod, began=time.monotonic())
            self._changed.notify_all()

    def end(self, pod: str, phase: str, exit_code: int | None, reason: str = "") -> None:
        """A pod has ended, in one of the phases `ENDED`."""
        self.change(pod, phase=phase, exit_code=exit_code, reason=reason, ended=time.monotonic())

    def fail(self, error: BaseException) -> None:
        """Something of ours went wrong in a thread; `wait` raises it."""
        with self._changed:
            self._trouble = error
            self._changed.notify_all()

    def wait(self, met: Callable[[tuple[PodRecord, ...]], bool], end: float) -> bool:
        """Wait until it is met, or until the monotonic time `end`; whether it is met."""
        with self._changed:
            while not met(tuple(self._records.values())):
                if self._trouble is not None:
                    raise self._trouble
                left = end - time.monotonic()
                if left <= 0:
                    return False
                # short, so that a signal is looked at soon
                self._changed.wait(min(left, 0.2))
            return True
