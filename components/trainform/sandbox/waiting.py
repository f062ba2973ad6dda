"""Waiting for components, and saying which one is to blame when it takes too long."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from trainform.errors import SandboxError
from trainform.progress import Step
from trainform.sandbox.api import RequestError
from trainform.sandbox.processes import Process, is_running, tail

POLL_SECONDS = 0.05
# What Go's net package, and so every component, says when somebody else was faster.
PORT_TAKEN = "address already in use"
_TROUBLE = (OSError, http.client.HTTPException, RequestError)


class PortTakenError(SandboxError):
    """A component found its port in use: start again on other ports."""


@dataclasses.dataclass(frozen=True)
class Condition:
    """Something that becomes true; `component` is the one whose log explains why not."""

    text: str
    component: str
    met: Callable[[], bool]


def wait_for(conditions: Iterable[Condition], processes: Iterable[Process], deadline: float, step: Step) -> None:
    """Return when all conditions are met; `SandboxError` when a process ends or the monotonic clock passes `deadline`."""
    watched = list(processes)
    unmet = list(conditions)
    while True:
        asked = time.monotonic()
        answers = [(condition, _why_not(condition)) for condition in unmet]
        answers = [(condition, why) for condition, why in answers if why is not None]
        if not answers:
            return
        check_alive(watched)
        first, why = answers[0]
        if time.monotonic() > deadline:
            log = _log_of(first.component, watched)
            message = f"{first.component} is not ready in time: waited until {first.text} ({why})"
            raise SandboxError(message, _fix(log), _excerpt(log))
        step.update(f"sandbox: waiting until {first.text}")
        unmet = [condition for condition, _ in answers]
        # A thousand nodes are a long answer: asking takes at most half of the server's time.
        time.sleep(max(POLL_SECONDS, time.monotonic() - asked))


def _why_not(condition: Condition) -> str | None:
    """None when the condition is met."""
    try:
        return None if condition.met() else "not yet"
    except _TROUBLE as error:
        return f"{type(error).__name__}: {error}"


def _log_of(component: str, processes: Iterable[Process]) -> Path:
    return next(Path(process.log) for process in processes if process.name == component)


def check_alive(processes: Iterable[Process]) -> None:
    """`SandboxError` with the end of the log if one of them has ended."""
    for process in processes:
        if not is_running(process):
            log = Path(process.log)
            # Some print a page of stack after the reason.
            taken = any(PORT_TAKEN in line for line in tail(log, 200))
            kind = PortTakenError if taken else SandboxError
            raise kind(f"{process.name} ended", _fix(log), _excerpt(log))


@contextlib.contextmanager
def blaming(processes: Iterable[Process], component: str) -> Iterator[None]:
    """Inside, network trouble is explained by a component that ended, else by the log of `component`."""
    watched = list(processes)
    try:
        yield
    except _TROUBLE as error:
        check_alive(watched)
        log = _log_of(component, watched)
        raise SandboxError(f"{component} does not do as asked: {error}", _fix(log), _excerpt(log)) from error


def _excerpt(log: Path) -> list[str]:
    lines = tail(log)
    return lines if lines else ["(its log is empty)"]


def _fix(log: Path) -> str:
    return f"the whole log is {log}; then run `trainform sandbox up` again"
