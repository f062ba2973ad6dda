"""The timeline of a job, from objects as an API server returns them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.deployed.test_overview import REVISION, environment, recorded
from tests.running.test_logs import ended, running
from tests.running.test_read import bert, gang
from trainform.plan.record import read_record
from trainform.running.events import Entry, timeline
from trainform.running.snapshot import Snapshot, Target

POD = f"bert-{REVISION}-worker"


def event(kind: str, name: str, reason: str, at: str, text: str = "", **more: Any) -> dict[str, Any]:
    body = {"involvedObject": {"kind": kind, "name": name}, "reason": reason, "message": text, "type": "Normal"}
    return {**body, "lastTimestamp": f"2026-11-27T14:{at}Z", **more}


def entries(*events: dict[str, Any], **parts: Any) -> tuple[Entry, ...]:
    record = read_record(recorded("bert"))
    job = parts.pop("job", None)
    snapshot = Snapshot("2026-11-27T15:00:00Z", Target("bert", environment()), record, job, events=events, **parts)
    found = timeline(snapshot, Path("/nowhere"))
    assert found.not_read == {}
    return found.entries


def test_what_happens_to_all_pods_of_a_role_is_one_entry() -> None:
    assigned = [
        event(
            "Pod", f"{POD}-{index}", "Scheduled", f"00:0{index}", f"Successfully assigned {POD}-{index} to a800-{index}"
        )
        for index in range(2)
    ]
    pulled = [
        event(
            "Pod",
            f"{POD}-{index}",
            "Pulled",
            f"01:0{index}",
            "image is there",
            count=2,
            firstTimestamp="2026-11-27T14:00:30Z",
        )
        for index in range(2)
    ]
    pods = [running(0), running(1)]
    assert entries(*pulled, *assigned, pods=pods) == (
        Entry("2026-11-27T14:00:00Z", "worker, 2 pods", "Scheduled", "", "2026-11-27T14:00:01Z", 2),
        Entry("2026-11-27T14:00:30Z", "worker, 2 pods", "Pulled", "image is there", "2026-11-27T14:01:01Z", 4),
    )
    assert entries(*assigned[:1], pods=pods) == (
        Entry("2026-11-27T14:00:00Z", "worker/0 rank 0", "Scheduled", f"Successfully assigned {POD}-0 to a800-0"),
    )


def test_of_several_warnings_the_last_has_the_text() -> None:
    warnings = [
        event("Pod", f"{POD}-{index}", "FailedMount", f"0{index}:00", f"{text} of {POD}-{index}", type="Warning")
        for index, text in enumerate(("no Secret", "no claim", "no Secret"))
    ]
    found = entries(*warnings)  # the pods are deleted, and the record has no third one
    assert [(entry.object, entry.text, entry.count, entry.warning) for entry in found] == [
        ("worker, 2 pods", f"no claim of {POD}-1", 2, True),
        (f"Pod {POD}-2", f"no Secret of {POD}-2", 1, True),
    ]


def test_the_status_of_objects_outlives_events() -> None:
    pods = [running(0, ended(0, "50"), lastState=ended(137, "20")), running(1)]
    for state, reason in (("lastState", "OOMKilled"), ("state", "Completed")):
        pods[0]["status"]["containerStatuses"][0][state]["terminated"]["reason"] = reason
    job = bert()
    job["status"]["conditions"] = [{"status": "Running", "lastTransitionTime": "2026-11-27T14:00:31Z"}]
    group = gang("uid")
    conditions = [
        {"type": "Scheduled", "status": "True", "reason": "tasks ready", "lastTransitionTime": "2026-11-27T14:00:01Z"},
        {"type": "Unschedulable", "status": "False", "lastTransitionTime": "2026-11-27T14:00:00Z"},
    ]
    group["status"]["conditions"] = conditions
    started = event("Pod", f"{POD}-1", "Started", "00:30", "Started container main")
    found = entries(started, job=job, gang=group, pods=pods)
    assert [(entry.at[14:19], entry.object, entry.what, entry.text) for entry in found] == [
        ("00:00", f"Job bert-{REVISION}", "created", f"revision {REVISION}, run 1"),
        ("00:01", f"PodGroup {group['metadata']['name']}", "Scheduled", "tasks ready"),
        ("00:20", "worker/0 rank 0", "main ended (OOMKilled, exit code 137)", ""),
        ("00:30", "worker/1 rank 1", "Started", "Started container main"),
        ("00:31", f"Job bert-{REVISION}", "Running", ""),
        ("00:50", "worker/0 rank 0", "main ended (Completed, exit code 0)", ""),
    ]


@pytest.mark.parametrize(
    ("times", "at", "until", "count"),
    [
        ({"firstTimestamp": "2026-11-27T13:59:00Z", "count": 3}, "13:59", "2026-11-27T14:00:00Z", 3),
        ({"lastTimestamp": None, "eventTime": "2026-11-27T14:02:00.5Z"}, "14:02", "", 1),
        (
            {"eventTime": "2026-11-27T14:02:00Z", "series": {"count": 9, "lastObservedTime": "2026-11-27T14:05:00Z"}},
            "14:02",
            "2026-11-27T14:05:00Z",
            9,
        ),
    ],
)
def test_every_spelling_of_the_times_of_an_event(times: dict[str, Any], at: str, until: str, count: int) -> None:
    (found,) = entries(event("Queue", "vision", "Unschedulable", "00:00", **times))
    assert (found.object, found.at[11:16], found.until, found.count) == ("Queue vision", at, until, count)
