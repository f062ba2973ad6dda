"""The status of a job as data, from the bodies of its objects."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.running.jobs import JOB_NAME, READ_AT, STARTED, container, node_lost, of_role, snapshot
from trainform.cluster.phases import Phase, PodState
from trainform.running.model import Cost, Fault
from trainform.running.snapshot import Snapshot
from trainform.running.status import status_of

CRASHING = container(4, waiting={"reason": "CrashLoopBackOff"})


def test_a_job_that_runs() -> None:
    pods = [of_role("worker", index, on=f"node-{index}") for index in (1, 0)]
    found = status_of(snapshot(pods, outputs={pods[0]["metadata"]["name"]: "2026-11-22T11:04:58.5Z"}))
    assert (found.phase, found.phase_from_job, found.message) == ("running", False, "")
    assert (found.stack, found.experiment, found.environment) == ("vision/bert.dev", "bert", "dev")
    assert (found.namespace, found.job, found.revision) == ("ai-namespace", JOB_NAME, "1f3a9c")
    assert (found.backend, found.admission, found.queue) == ("volcano", "volcano", "default")
    assert (found.placed, found.needed, found.restarts) == (2, 2, 0)
    assert (found.created, found.started, found.ended) == ("2026-11-22T09:00:00Z", STARTED, "")
    assert (found.accelerators, found.cost) == ({"a800": 16}, Cost(67.20, "USD")), "two hours at 33.60 USD"
    first, second = found.pods
    assert (first.name, first.role, first.index, first.rank) == (f"{JOB_NAME}-worker-0", "worker", 0, 0)
    assert (first.node, first.state, first.reason, first.last_output) == ("node-0", PodState.RUNNING, "", "")
    assert (second.started, second.last_output) == (STARTED, "2026-11-22T11:04:58.5Z")


def test_a_job_that_waits_costs_nothing() -> None:
    found = status_of(snapshot([of_role("worker", index, "Pending", None) for index in range(2)], "Running"))
    assert (found.phase, found.placed, found.needed) == ("queued", 0, 2)
    assert (found.started, found.cost) == ("", None)


@pytest.mark.parametrize(
    ("status", "state", "reason", "restarts"),
    [
        ({"containerStatuses": [container(waiting={"reason": "ErrImagePull"})]}, "starting", "ErrImagePull", 0),
        ({"containerStatuses": [CRASHING]}, "restarting", "CrashLoopBackOff", 4),
        ({"containerStatuses": [container(1, running={})]}, "running", "", 1),
        ({"conditions": node_lost()}, "lost", "", 0),
    ],
)
def test_why_a_pod_does_not_run(status: dict[str, Any], state: str, reason: str, restarts: int) -> None:
    (pod,) = status_of(snapshot([of_role("worker", 0, **status)])).pods
    assert (pod.state, pod.reason, pod.restarts) == (state, reason, restarts)


def test_why_a_pod_has_ended_or_has_no_node() -> None:
    oom = container(terminated={"exitCode": 137, "reason": "OOMKilled"})
    done = container(terminated={"exitCode": 0, "reason": "Completed"})
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pods = [
        of_role("worker", 0, "Failed", containerStatuses=[oom]),
        of_role("worker", 1, "Failed", reason="Evicted"),
        of_role("worker", 2, "Pending", None, conditions=[condition]),
        of_role("worker", 3, "Succeeded", containerStatuses=[done]),
    ]
    found = status_of(snapshot(pods)).pods
    assert [pod.reason for pod in found] == ["OOMKilled", "Evicted", "Unschedulable", ""]
    assert found[0].started == STARTED


def test_each_restart_counts() -> None:
    last = {"terminated": {"exitCode": 1}}
    again = container(3, last, running={"startedAt": "2026-11-22T10:00:00Z"})
    found = status_of(snapshot([of_role("worker", 0, containerStatuses=[again])]))
    assert (found.started, found.restarts) == (STARTED, 3), "it has held its node since"
    job = {"metadata": {"name": JOB_NAME}, "status": {"state": {"phase": "Running"}, "retryCount": 2}}
    assert status_of(snapshot([of_role("worker", 0)], job=job)).restarts == 2


def ended(word: str) -> dict[str, Any]:
    state = {"phase": word, "lastTransitionTime": "2026-11-22T10:05:00Z"}
    return {"metadata": {"name": JOB_NAME, "creationTimestamp": "2026-11-22T09:00:00Z"}, "status": {"state": state}}


def test_a_job_that_has_ended() -> None:
    done = container(terminated={"exitCode": 0})
    found = status_of(snapshot([of_role("worker", 0, "Succeeded", containerStatuses=[done])], job=ended("Completed")))
    assert (found.phase, found.ended, found.phase_from_job) == ("succeeded", "2026-11-22T10:05:00Z", False)
    assert found.cost == Cost(33.60, "USD"), "one hour"
    found = status_of(snapshot([], job=ended("Failed")))
    assert (found.phase, found.phase_from_job, found.fault) == ("failed", True, None)
    part = status_of(snapshot([of_role("worker", 0, "Failed")], job=ended("Completed")))
    assert (part.phase, part.message) == ("succeeded", "not all of its pods have succeeded")


def test_a_job_that_was_aborted() -> None:
    """By `vcctl job suspend`, or by the policy `AbortJob`."""
    found = status_of(snapshot([], job=ended("Aborted")))
    assert (found.phase, found.fault) == ("failed", None)
    assert "vcctl job resume" in found.message
    raised = container(terminated={"exitCode": 1})
    found = status_of(snapshot([of_role("worker", 0, "Failed", containerStatuses=[raised])], job=ended("Aborted")))
    assert (found.phase, found.fault) == ("failed", Fault.WORKLOAD)


@pytest.mark.parametrize(
    ("found", "phase", "message"),
    [
        (snapshot([], job=None), "gone", f"the recorded job {JOB_NAME} is not in the cluster"),
        (snapshot([], job=None, record=None), "gone", "it is not deployed; `pulumi up` deploys it"),
        (
            snapshot([of_role("worker", index, conditions=node_lost(), on=f"node-{index}") for index in range(4)]),
            "unknown",
            "no report from node-0, node-1, node-2: the state of its pods is unknown",
        ),
        (snapshot([], not_read={"pods": "forbidden", "queue": "late"}), "unknown", "pods and queue could not be read"),
        (snapshot([], job=None, not_read={"job": "forbidden"}), "unknown", "job could not be read"),
        (snapshot([of_role("worker", 0)], job=None, not_read={"job": "forbidden"}), "running", ""),
        (
            snapshot([of_role("worker", 0, "Failed")], job=None, not_read={"job": "forbidden"}),
            "unknown",
            "its pods have ended, and job could not be read",
        ),
        (
            snapshot([], job={"metadata": {"name": JOB_NAME}, "spec": {"suspend": True}}),
            "suspended",
            "`trainform resume` and `pulumi up` start its pods again",
        ),
        (
            snapshot([of_role("worker", 0)], job=ended("Completed")),
            "ending",
            "it has succeeded, and 1 pod may still run",
        ),
        (
            snapshot([], job={"metadata": {"name": "bert-77aa01"}}),
            "queued",
            f"`pulumi up` runs, or failed half way: {JOB_NAME} is recorded as deployed",
        ),
    ],
)
def test_one_sentence_says_what_the_phase_does_not(found: Snapshot, phase: str, message: str) -> None:
    status = status_of(found)
    assert (status.phase, status.message) == (phase, message)


def test_no_cost_without_prices_or_times() -> None:
    found = snapshot([of_role("worker", 0)])
    assert status_of(structs.replace(found, read_at="soon")).cost is None
    environment = found.target.environment.model_copy(update={"accelerators": {}})
    target = structs.replace(found.target, environment=environment)
    assert status_of(structs.replace(found, target=target)).cost is None


def test_pods_that_have_ended_cost_no_more_while_the_end_of_their_job_is_unknown() -> None:
    done = container(terminated={"exitCode": 0})
    pods = [of_role("worker", 0, "Succeeded", containerStatuses=[done])]
    found = status_of(snapshot(pods, job=None, not_read={"job": "forbidden"}))
    assert (found.phase, found.started, found.cost) == ("unknown", STARTED, None)


def test_a_thousand_pods() -> None:
    found = status_of(snapshot([of_role("worker", index) for index in range(1024)]))
    assert (found.phase, len(found.pods), found.placed) == (Phase.RUNNING, 1024, 1024)
    assert [pod.index for pod in found.pods] == [*range(1024)]
    assert found.read_at == READ_AT
