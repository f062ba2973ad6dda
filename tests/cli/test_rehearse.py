"""What `trainform rehearse` makes of an outcome, for programs. How pods run is in tests/local/rehearsal."""

from __future__ import annotations

import json
from typing import Any

from trainform.cli.rehearse import _as_dict, _error
from trainform.local.rehearsal.run.records import FAILED, STOPPED, SUCCEEDED, PodRecord
from trainform.local.rehearsal.run.report import Outcome
from trainform.local.rehearsal.workload import Workload

WORKLOAD = Workload(
    "hello", "lab", (), secrets={"keys": {"token": b"hunter2-hunter2"}}, notes=("gives hunter2-hunter2 to all",)
)


def described(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(_as_dict(WORKLOAD, outcome, _error(WORKLOAD, outcome))))
    return found


def test_a_successful_rehearsal_as_json() -> None:
    pods = (PodRecord("hello-worker-0", SUCCEEDED, 0, began=1.0, ended=3.24),)
    assert described(Outcome(pods)) == {
        "ok": True,
        "experiment": "hello",
        "pods": [
            {"pod": "hello-worker-0", "phase": "Succeeded", "exit_code": 0, "reason": "", "restarts": 0, "seconds": 2.2}
        ],
        "notes": ["gives [secret] to all"],
    }


def test_a_failed_rehearsal_as_json() -> None:
    pods = (PodRecord("a", FAILED, 7, "exit code 7", 2, "no route"), PodRecord("b", STOPPED, None, "stopped"))
    found = described(Outcome(pods, "a failed, exit code 7: no route\nb still runs"))
    assert found["ok"] is False
    assert found["error"] == {
        "message": "the rehearsal of hello failed",
        "fix": "read the output of the pods above, correct the experiment, and rehearse it again",
        "details": ["a failed, exit code 7: no route", "b still runs"],
        "findings": [],
        "problems": [],
    }
    assert [(pod["phase"], pod["exit_code"]) for pod in found["pods"]] == [("Failed", 7), ("Stopped", None)]
