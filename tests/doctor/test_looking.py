"""Checks are made side by side, and none holds up the others."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from trainform.doctor.looking import look, side_by_side
from trainform.doctor.model import Asked, Check, Finding, Findings, State
from trainform.errors import MASK, TrainformError

NOW = Asked(Path("/nowhere"), None, 0.3)
LATER = Asked(Path("/nowhere"), None, 3.0)  # enough for a program to start
PATIENT = Asked(Path("/nowhere"), None, 60.0)
OK = Finding(State.OK, "there")


def check(name: str, finding: Finding | Exception = OK, **parts: object) -> Check:
    def found(asked: Asked, findings: Findings) -> Finding:
        if isinstance(finding, Exception):
            raise finding
        return finding

    return Check(name, found, **parts)  # type: ignore[arg-type]


def hanging(name: str, **parts: object) -> Check:
    def found(asked: Asked, findings: Findings) -> Finding:
        threading.Event().wait()
        raise AssertionError("nobody sets it")

    return Check(name, found, **parts)  # type: ignore[arg-type]


def test_one_that_hangs_holds_up_no_other() -> None:
    found = look(
        [hanging("cluster", fix="look at it"), check("rights", needs=("cluster",)), check("python"), hanging("go")],
        NOW,
    )
    assert found == {
        "cluster": Finding(State.MISSING, "no answer within 0.3 s", "look at it"),
        "rights": Finding(State.UNKNOWN, "needs cluster"),
        "python": OK,
        "go": Finding(State.MISSING, "no answer within 0.3 s"),
    }


def test_they_are_made_at_the_same_time() -> None:
    """Each waits for the other."""
    meeting = threading.Barrier(2)

    def found(asked: Asked, findings: Findings) -> Finding:
        meeting.wait()
        return OK

    assert look([Check("one", found), Check("other", found)], PATIENT) == {"one": OK, "other": OK}


def test_what_a_check_needs() -> None:
    seen: list[Findings] = []

    def found(asked: Asked, findings: Findings) -> Finding:
        seen.append(findings)
        return OK

    note, missing = Finding(State.NOTE, "old", "renew it"), Finding(State.MISSING, "none", "make it")
    checks = [
        check("pip", note),
        check("operators", missing),
        Check("rights", found, needs=("pip",), after=("operators",)),
    ]
    assert look(checks, PATIENT)["rights"] == OK
    assert seen == [{"pip": note, "operators": missing}]
    checks = [
        check("kubeconfig", missing),
        check("cluster", needs=("kubeconfig",)),
        check("rights", needs=("kubeconfig", "cluster")),
    ]
    found_states = look(checks, PATIENT)
    assert found_states["cluster"] == found_states["rights"] == Finding(State.UNKNOWN, "needs kubeconfig")


def test_what_does_not_apply_is_not_made() -> None:
    checks = [
        hanging("queues", applies=lambda asked: asked.environment is not None),
        check("rights", after=("queues",)),
    ]
    assert look(checks, PATIENT) == {"rights": OK}


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (TrainformError("it broke", "glue it"), Finding(State.MISSING, "it broke", "glue it")),
        (TrainformError("it broke"), Finding(State.MISSING, "it broke", "the usual")),
        (PermissionError(13, "Permission denied", "/x"), Finding(State.MISSING, "cannot be looked at: PermissionError: [Errno 13] Permission denied: '/x'", "the usual")),
        (KeyError("status"), Finding(State.MISSING, "cannot be looked at: KeyError: 'status'", "the usual")),
        (TrainformError("https://me:pw@host refuses", "see https://me:pw@host"), Finding(State.MISSING, f"https://{MASK}@host refuses", f"see https://{MASK}@host")),
    ],
)  # fmt: skip
def test_an_error_is_a_finding(error: Exception, finding: Finding) -> None:
    assert look([check("cluster", error, fix="the usual"), check("go")], PATIENT) == {"cluster": finding, "go": OK}


def test_only_what_is_missing_is_mended() -> None:
    states = {state: look([check("go", Finding(state, ""), fix="get it")], PATIENT)["go"].fix for state in State}
    assert states == {State.OK: "", State.NOTE: "get it", State.MISSING: "get it", State.UNKNOWN: ""}


def test_connections_are_closed() -> None:
    class Connection:
        closed = False

        def close(self) -> None:
            self.closed = True

    connection = Connection()
    look([check("kubeconfig", Finding(State.OK, "there", value=connection))], PATIENT)
    assert connection.closed


def test_programs_of_a_late_check_are_ended_and_no_others() -> None:
    """As one of a kubeconfig for credentials, which lightkube starts and waits for."""
    started: list[subprocess.Popen[bytes]] = []

    def found(asked: Asked, findings: Findings) -> Finding:
        with subprocess.Popen(["sleep", "300"]) as process:
            started.append(process)
        return OK

    with subprocess.Popen(["sleep", "300"]) as ours:
        assert look([Check("cluster", found)], LATER)["cluster"].state is State.MISSING
        assert started[0].wait(60) == -9
        assert psutil.Process(ours.pid).is_running()
        ours.kill()


def test_side_by_side() -> None:
    assert side_by_side([lambda: 1, lambda: 2]) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1, lambda: 1 // 0])


def test_a_process_ends_though_a_check_hangs() -> None:
    script = (
        "import threading\nfrom pathlib import Path\n"
        "from trainform.doctor.looking import look, side_by_side\nfrom trainform.doctor.model import Asked, Check\n"
        "hang = threading.Event().wait\n"
        "print(look([Check('go', lambda asked, findings: side_by_side([hang]))], Asked(Path(), None, 0.1))['go'].text)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no answer within 0.1 s\n", "")
