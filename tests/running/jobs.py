"""Snapshots of jobs with pods in any state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from tests.deployed.test_overview import REVISION, environment, job, recorded
from tests.support.live_objects import pod
from trainform import defaults
from trainform.plan.record import read_record
from trainform.running.snapshot import Snapshot, Target

READ_AT, STARTED = "2026-11-22T11:05:00Z", "2026-11-22T09:05:00Z"
JOB_NAME = f"bert-{REVISION}"


def of_role(role: str, index: int, phase: str = "Running", on: str | None = "node-0", **status: Any) -> dict[str, Any]:
    """A pod of the job. on: its node."""
    body = pod(JOB_NAME, index, phase, on, experiment="bert")
    body["metadata"] |= {"name": f"{JOB_NAME}-{role}-{index}", "creationTimestamp": "2026-11-22T09:01:00Z"}
    body["metadata"]["labels"] |= {defaults.ROLE_LABEL: role}
    body["status"] |= {**({} if on is None else {"startTime": STARTED}), **status}
    return body


def container(restarts: int = 0, last: dict[str, Any] | None = None, **state: Any) -> dict[str, Any]:
    """The status of the main container."""
    found = {"name": "main", "restartCount": restarts, "state": state}
    return found if last is None else {**found, "lastState": last}


def snapshot(pods: Sequence[dict[str, Any]], word: str = "Running", **changed: Any) -> Snapshot:
    """The objects of a job of Volcano with 16 accelerators, which were 33.60 USD per hour."""
    record = read_record(recorded("bert", 2))
    found = Snapshot(READ_AT, Target("bert", environment(), "vision/bert.dev"), record, job("bert", word), pods)
    return structs.replace(found, **changed)


def node_lost() -> list[dict[str, Any]]:
    """The conditions of a pod of which the node has not reported for some time."""
    return [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]
