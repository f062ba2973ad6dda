"""Waiting for components; an error names the component that caused it, with the end of its log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from trainform.console.progress import Step
from trainform.errors import SandboxError
from trainform.local.sandbox.api import RequestError
from trainform.local.sandbox.processes import Process, is_running, tail

POLL_SECONDS = 0.05
# The error of Go's net package, and so of every component, for a port that another process uses.
PORT_TAKEN = "address already in use"


class PortTakenError(SandboxError):
    """The port of a component is in use; the start is repeated with other ports."""


class Condition(Struct, frozen=True):
    """A condition to wait for. `component`: whose log explains why it is not met."""

    text: str
    component: str
    met: Callable[[], bool]


def wait_for(conditions: Iterable[Condition], processes: Iterable[Process], deadline: float, step: Step) -> None:
    """Wait for all conditions. `SandboxError` if a process ends, or when the monotonic clock passes `deadline`."""
    watched = list(processes)
    unmet = list(conditions)
    while True:
        started = time.monotonic()
        answers = [(condition, _unmet_reason(condition)) for condition in unmet]
        answers = [(condition, why) for condition, why in answers if why is not None]
        if not answers:
            return
        check_alive(watched)
        first, why = answers[0]
        if time.monotonic() > deadline:
            log = _log_of(first.component, watched)
            message = f"{first.component} is not ready in time: the sandbox waited until {first.text} ({why})"
            raise SandboxError(message, _fix(log), _excerpt(log))
        step.update(f"sandbox: waiting until {first.text}")
        unmet = [condition for condition, _ in answers]
        # A list of 1,000 nodes is a large response: requests take at most half of the server's time.
        time.sleep(max(POLL_SECONDS, time.monotonic() - started))


def _unmet_reason(condition: Condition) -> str | None:
    """Return why the condition is not met, None if it is met."""
    try:
        return None if condition.met() else "not yet"
    except RequestError as error:
        return error.message


def _log_of(component: str, processes: Iterable[Process]) -> Path:
    return next(Path(process.log) for process in processes if process.name == component)


def check_alive(processes: Iterable[Process]) -> None:
    """Raise `SandboxError` with the end of its log if a process has ended; `PortTakenError` for a port in use."""
    for process in processes:
        if not is_running(process):
            log = Path(process.log)
            # Some components print a long stack trace after the reason.
            taken = any(PORT_TAKEN in line for line in tail(log, 200))
            kind = PortTakenError if taken else SandboxError
            raise kind(f"{process.name} ended", _fix(log), _excerpt(log))


@contextlib.contextmanager
def explained_by(processes: Iterable[Process], component: str) -> Iterator[None]:
    """Turn a failed request into a `SandboxError` with the log of an ended component, else of `component`."""
    watched = list(processes)
    try:
        yield
    except RequestError as error:
        check_alive(watched)
        log = _log_of(component, watched)
        raise SandboxError(f"a request to {component} failed: {error.message}", _fix(log), _excerpt(log)) from error


def _excerpt(log: Path) -> list[str]:
    lines = tail(log)
    return lines if lines else ["(its log is empty)"]


def _fix(log: Path) -> str:
    return f"read the whole log, {log}; then run `trainform sandbox up` again"
