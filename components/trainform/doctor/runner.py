"""Runs all checks in parallel. A check that does not return in time is left in its thread, which ends with the process."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

import psutil

from trainform.doctor.model import Check, Finding, Findings, Request, State
from trainform.errors import InputError, TrainformError, shorten, without_credentials

Result = TypeVar("Result")
Answers = Mapping[str, Future[Finding]]


def run_checks(checks: Sequence[Check], request: Request) -> dict[str, Finding]:
    """Return the findings by check, after at most `request.seconds`. A check without a result by then gets a finding that says so."""
    made = [check for check in checks if check.applies(request)]
    answers: dict[str, Future[Finding]] = {check.name: Future() for check in made}
    running = _child_processes()
    for check in made:
        _in_thread(answers[check.name], functools.partial(_finding, check, request, answers))
    concurrent.futures.wait(answers.values(), timeout=request.seconds)
    findings = {name: answer.result() for name, answer in answers.items() if answer.done()}
    late = [check for check in made if check.name not in findings]
    findings |= {check.name: _late_finding(check, findings, request.seconds) for check in late}
    if late:
        _kill_new_children(running)
    for finding in findings.values():
        if finding.value is not None:
            finding.value.close()
    return {check.name: findings[check.name] for check in made}


def in_parallel(works: Iterable[Callable[[], Result]]) -> list[Result]:
    """Call all functions in threads and return their results in order; the first error is raised.

    No executor is used, since Python waits for its threads when the process ends.
    """
    futures: list[Future[Result]] = []
    for work in works:
        futures.append(Future())
        _in_thread(futures[-1], work)
    return [future.result() for future in futures]


def _in_thread(future: Future[Result], work: Callable[[], Result]) -> None:
    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()


def _finding(check: Check, request: Request, answers: Answers) -> Finding:
    """Wait for the checks that this one depends on, and return its finding."""
    known = {name: answers[name].result() for name in (*check.needs, *check.after) if name in answers}
    failed = [name for name in check.needs if name in known and known[name].state in (State.MISSING, State.UNKNOWN)]
    if failed:
        return _unknown(failed[0])
    try:
        finding = check.look(request, known)
    except TrainformError as error:
        finding = Finding(State.MISSING, _message(error), error.fix)
    except Exception as error:  # an unexpected error in one check must not hide the other findings
        finding = Finding(State.MISSING, f"the check failed: {type(error).__name__}: {shorten(error)}")
    fixable = finding.state in (State.MISSING, State.NOTE)
    fix = (finding.fix if finding.fix else check.fix) if fixable else ""
    return dataclasses.replace(finding, text=_one_line(finding.text), fix=_one_line(fix))


def _message(error: TrainformError) -> str:
    """Return the message of an error; for an `InputError` with its problems."""
    if isinstance(error, InputError):
        return " ".join(line for problem in error.problems for line in problem.lines())
    return error.message


def _one_line(text: str) -> str:
    """Return the text on one line without credentials, since messages of servers and programs may have both."""
    return " ".join(without_credentials(text).split())


def _late_finding(check: Check, findings: Findings, seconds: float) -> Finding:
    waiting = [name for name in (*check.needs, *check.after) if name not in findings]
    if waiting:
        return _unknown(waiting[0])
    return Finding(State.MISSING, f"no answer within {seconds:g} s", check.fix)


def _unknown(name: str) -> Finding:
    return Finding(State.UNKNOWN, f"needs {name.replace('_', ' ')}")


def _child_processes() -> set[int]:
    """Return the ids of all child processes."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def _kill_new_children(before: set[int]) -> None:
    """Kill child processes that late checks have started, such as a command of the kubeconfig that waits for a password."""
    for child in psutil.Process().children(recursive=True):
        if child.pid not in before:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
