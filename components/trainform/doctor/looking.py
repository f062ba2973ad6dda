"""Makes all checks side by side. What does not answer holds up nothing: its thread is left alone, and ends with the process."""

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

from trainform.doctor.model import Asked, Check, Finding, Findings, State
from trainform.errors import InputError, TrainformError, shorten, without_credentials

Result = TypeVar("Result")
Answers = Mapping[str, Future[Finding]]


def look(checks: Sequence[Check], asked: Asked) -> dict[str, Finding]:
    """The findings by the names of the checks, in time. A check that has found nothing by then says that."""
    made = [check for check in checks if check.applies(asked)]
    answers: dict[str, Future[Finding]] = {check.name: Future() for check in made}
    running = _programs()
    for check in made:
        _in_thread(answers[check.name], functools.partial(_made, check, asked, answers))
    concurrent.futures.wait(answers.values(), timeout=asked.seconds)
    findings = {name: answer.result() for name, answer in answers.items() if answer.done()}
    late = [check for check in made if check.name not in findings]
    findings |= {check.name: _late(check, findings, asked.seconds) for check in late}
    if late:
        _end_programs(running)
    for finding in findings.values():
        if finding.value is not None:
            finding.value.close()
    return {check.name: findings[check.name] for check in made}


def side_by_side(works: Iterable[Callable[[], Result]]) -> list[Result]:
    """The results in order; the first error is raised. An executor's threads would be waited for when the process ends."""
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


def _made(check: Check, asked: Asked, answers: Answers) -> Finding:
    """The finding of one check, once those are there that it builds upon."""
    known = {name: answers[name].result() for name in (*check.needs, *check.after) if name in answers}
    failed = [name for name in check.needs if name in known and known[name].state in (State.MISSING, State.UNKNOWN)]
    if failed:
        return _unknown(failed[0])
    try:
        finding = check.look(asked, known)
    except TrainformError as error:
        finding = Finding(State.MISSING, _message(error), error.fix)
    except Exception as error:  # whatever is wrong with one thing, the others are told
        finding = Finding(State.MISSING, f"cannot be looked at: {type(error).__name__}: {shorten(error)}")
    mendable = finding.state in (State.MISSING, State.NOTE)
    fix = (finding.fix if finding.fix else check.fix) if mendable else ""
    return dataclasses.replace(finding, text=_one_line(finding.text), fix=_one_line(fix))


def _message(error: TrainformError) -> str:
    """What is wrong; of a setting also where."""
    if isinstance(error, InputError):
        return " ".join(line for problem in error.problems for line in problem.lines())
    return error.message


def _one_line(text: str) -> str:
    """Messages of servers and programs have several; and they may hold credentials."""
    return " ".join(without_credentials(text).split())


def _late(check: Check, findings: Findings, seconds: float) -> Finding:
    waiting = [name for name in (*check.needs, *check.after) if name not in findings]
    if waiting:
        return _unknown(waiting[0])
    return Finding(State.MISSING, f"no answer within {seconds:g} s", check.fix)


def _unknown(name: str) -> Finding:
    return Finding(State.UNKNOWN, f"needs {name.replace('_', ' ')}")


def _programs() -> set[int]:
    """Ids of the processes that this one has started, and those that they have."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def _end_programs(before: set[int]) -> None:
    """What a late check has started and waits for, such as a program of the kubeconfig that asks for a password."""
    for child in psutil.Process().children(recursive=True):
        if child.pid not in before:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
