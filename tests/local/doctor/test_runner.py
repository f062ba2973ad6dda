"""Checks run in parallel, and none delays the others."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import cast

import psutil
import pytest

from trainform.cluster.api import ClusterApi
from trainform.errors import MASK, TrainformError
from trainform.local.doctor.check_runs import Check, Finding, Findings, Request, State, run_checks

NOW = Request(Path("/nowhere"), None, 0.3)
LATER = Request(Path("/nowhere"), None, 3.0)  # enough for a program to start
PATIENT = Request(Path("/nowhere"), None, 60.0)
OK = Finding(State.OK, "there")


def check(name: str, finding: Finding | Exception = OK, **parts: object) -> Check:
    def found(request: Request, findings: Findings) -> Finding:
        if isinstance(finding, Exception):
            raise finding
        return finding

    return Check(name, found, (), **parts)  # type: ignore[arg-type]


def hanging(name: str, **parts: object) -> Check:
    def found(request: Request, findings: Findings) -> Finding:
        threading.Event().wait()
        raise AssertionError("nobody sets it")

    return Check(name, found, (), **parts)  # type: ignore[arg-type]


def test_a_check_that_hangs_does_not_delay_others() -> None:
    found = run_checks(
        [
            hanging("cluster", fix="run_checks at it"),
            check("rights", needs=("cluster",)),
            check("python"),
            hanging("go"),
        ],
        NOW,
    )
    assert found == {
        "cluster": Finding(State.MISSING, "no answer within 0.3 s", "run_checks at it"),
        "rights": Finding(State.UNKNOWN, "needs cluster"),
        "python": OK,
        "go": Finding(State.MISSING, "no answer within 0.3 s"),
    }


def test_checks_run_at_the_same_time() -> None:
    """Each waits for the other."""
    meeting = threading.Barrier(2)

    def found(request: Request, findings: Findings) -> Finding:
        meeting.wait()
        return OK

    assert run_checks([Check("one", found, ()), Check("other", found, ())], PATIENT) == {"one": OK, "other": OK}


def test_a_check_gets_the_findings_that_it_needs() -> None:
    seen: list[Findings] = []

    def found(request: Request, findings: Findings) -> Finding:
        seen.append(findings)
        return OK

    note, missing = Finding(State.NOTE, "old", "renew it"), Finding(State.MISSING, "none", "make it")
    checks = [
        check("pip", note),
        check("operators", missing),
        Check("rights", found, (), needs=("pip",), after=("operators",)),
    ]
    assert run_checks(checks, PATIENT)["rights"] == OK
    assert seen == [{"pip": note, "operators": missing}]
    checks = [
        check("kubeconfig", missing),
        check("cluster", needs=("kubeconfig",)),
        check("rights", needs=("kubeconfig", "cluster")),
    ]
    found_states = run_checks(checks, PATIENT)
    assert found_states["cluster"] == found_states["rights"] == Finding(State.UNKNOWN, "needs kubeconfig")


def test_a_check_of_an_environment_is_not_made_without_one() -> None:
    assert run_checks([hanging("rights", needs_environment=True), check("python")], PATIENT) == {"python": OK}


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (TrainformError("it broke", "glue it"), Finding(State.MISSING, "it broke", "glue it")),
        (TrainformError("it broke"), Finding(State.MISSING, "it broke", "the usual")),
        (
            PermissionError(13, "Permission denied", "/x"),
            Finding(
                State.MISSING, "the check failed: PermissionError: [Errno 13] Permission denied: '/x'", "the usual"
            ),
        ),
        (KeyError("status"), Finding(State.MISSING, "the check failed: KeyError: 'status'", "the usual")),
        (
            TrainformError("https://me:pw@host refuses", "see https://me:pw@host"),
            Finding(State.MISSING, f"https://{MASK}@host refuses", f"see https://{MASK}@host"),
        ),
    ],
)
def test_an_error_is_a_finding(error: Exception, finding: Finding) -> None:
    assert run_checks([check("cluster", error, fix="the usual"), check("go")], PATIENT) == {
        "cluster": finding,
        "go": OK,
    }


def test_only_missing_and_note_have_a_fix() -> None:
    states = {state: run_checks([check("go", Finding(state, ""), fix="get it")], PATIENT)["go"].fix for state in State}
    assert states == {State.OK: "", State.NOTE: "get it", State.MISSING: "get it", State.UNKNOWN: ""}


def test_connections_are_closed() -> None:
    class Connection:
        closed = False

        def close(self) -> None:
            self.closed = True

    connection = Connection()
    run_checks([check("kubeconfig", Finding(State.OK, "there", value=cast(ClusterApi, connection)))], PATIENT)
    assert connection.closed


def test_child_processes_of_late_checks_are_killed_and_no_others() -> None:
    """As one of a kubeconfig for credentials, which lightkube starts and waits for."""
    started: list[subprocess.Popen[bytes]] = []

    def found(request: Request, findings: Findings) -> Finding:
        with subprocess.Popen(["sleep", "300"]) as process:
            started.append(process)
        return OK

    with subprocess.Popen(["sleep", "300"]) as ours:
        assert run_checks([Check("cluster", found, ())], LATER)["cluster"].state is State.MISSING
        assert started[0].wait(60) == -9
        assert psutil.Process(ours.pid).is_running()
        ours.kill()
