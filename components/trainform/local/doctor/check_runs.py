"""Checks and their findings, and the run of all checks at the same time."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from enum import StrEnum
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from trainform.cluster.api import ClusterApi, NotReadError
from trainform.errors import InputError, TrainformError, shorten, without_credentials
from trainform.spec.environment import Environment


class State(StrEnum):
    """The result of a check. NOTE: nothing is missing. UNKNOWN: another check failed, or permission is missing."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    UNKNOWN = "not checked"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check. `details`: data for programs. `brief`: for the summary of what is well. `value`: the
    connection of later checks."""

    state: State
    text: str
    fix: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    brief: str = ""
    value: ClusterApi | None = dataclasses.field(default=None, compare=False, repr=False)


Findings = Mapping[str, Finding]


class Request(Struct, frozen=True):
    """The project and the environment to check."""

    root: Path
    environment: Environment | None
    seconds: float
    """Time limit for all checks together."""

    @property
    def timeout(self) -> float:
        """Seconds for one program or server, so that its check can still name what does not answer."""
        return 0.8 * self.seconds

    @property
    def context(self) -> str | None:
        """Return the environment's context, None for the current one."""
        return None if self.environment is None else self.environment.cluster.context


class Check(Struct, frozen=True):
    """One check."""

    name: str
    look: Callable[[Request, Findings], Finding]
    verbs: tuple[str, ...]
    """Commands that need it."""
    fix: str = ""
    """The fix, if the finding has none."""
    needs: tuple[str, ...] = ()
    """Checks that must succeed first."""
    after: tuple[str, ...] = ()
    """Checks whose findings it reads."""
    needs_environment: bool = False


def run_checks(checks: Sequence[Check], request: Request) -> dict[str, Finding]:
    """Return the findings by check, after at most `request.seconds`. Python does not wait for daemon threads."""
    selected = [check for check in checks if request.environment is not None or not check.needs_environment]
    answers = {check.name: Future[Finding]() for check in selected}
    running = _children()
    for check in selected:
        threading.Thread(target=_answer, args=(check, request, answers), daemon=True).start()
    concurrent.futures.wait(answers.values(), timeout=request.seconds)
    done = {name for name, answer in answers.items() if answer.done()}
    findings = {
        check.name: answers[check.name].result() if check.name in done else _late_finding(check, done, request.seconds)
        for check in selected
    }
    for child in _children() - running if len(done) < len(selected) else ():
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()  # such as a command of the kubeconfig that waits for a password
    for finding in findings.values():
        if finding.value is not None:
            finding.value.close()
    return findings


def _children() -> set[psutil.Process]:
    return {*psutil.Process().children(recursive=True)}


def _answer(check: Check, request: Request, answers: Mapping[str, Future[Finding]]) -> None:
    """Wait for the checks that this one depends on, and set its finding."""
    known = {name: answers[name].result() for name in (*check.needs, *check.after) if name in answers}
    failed = [name for name in check.needs if known[name].state in (State.MISSING, State.UNKNOWN)]
    try:
        finding = _unknown(failed[0]) if failed else check.look(request, known)
    except NotReadError as error:
        finding = Finding(State.UNKNOWN, error.message)
    except InputError as error:
        finding = Finding(State.MISSING, " ".join(line for problem in error.problems for line in problem.lines()))
    except TrainformError as error:
        finding = Finding(State.MISSING, error.message, error.fix)
    except Exception as error:  # an unexpected error in one check must not hide the other findings
        finding = Finding(State.MISSING, f"the check failed: {type(error).__name__}: {shorten(error)}")
    fixable = finding.state in (State.MISSING, State.NOTE)
    fix = (finding.fix if finding.fix else check.fix) if fixable else ""
    answers[check.name].set_result(dataclasses.replace(finding, text=_one_line(finding.text), fix=_one_line(fix)))


def _one_line(text: str) -> str:
    """Return the text on one line without credentials, since messages of servers and programs may have both."""
    return " ".join(without_credentials(text).split())


def _late_finding(check: Check, done: set[str], seconds: float) -> Finding:
    waiting = [name for name in (*check.needs, *check.after) if name not in done]
    return _unknown(waiting[0]) if waiting else Finding(State.MISSING, f"no answer within {seconds:g} s", check.fix)


def _unknown(name: str) -> Finding:
    return Finding(State.UNKNOWN, f"needs {name.replace('_', ' ')}")
