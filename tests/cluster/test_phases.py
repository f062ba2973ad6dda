"""The phase of a job from its pods, its gang and what its operator reports, and the state of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.live_objects import pod, volcano_job
from tests.support.samples import JOB, fitting, plan
from trainform.backends.admission import QUEUE_LABEL
from trainform.backends.backend import BACKENDS
from trainform.cluster.phases import Phase, PodState, decided_end, needed_pods, phase_of, pod_state
from trainform.job.render import job_manifests
from trainform.manifests.manifest import job_body

W, S, R, A, E, OK, BAD, LOST = (
    *(PodState.WAITING, PodState.STARTING, PodState.RUNNING, PodState.RESTARTING),
    *(PodState.ENDING, PodState.SUCCEEDED, PodState.FAILED, PodState.LOST),
)
DELETED = "2026-11-22T14:02:00Z"


def volcano(word: str) -> dict[str, Any]:
    return {"status": {"state": {"phase": word}}}


def holds(*conditions: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": each, "status": "True"} for each in conditions]}}


@pytest.mark.parametrize(
    ("job", "pods", "phase"),
    [
        # Volcano's controller reports Running as soon as enough pods were made, and the scheduler has no room
        (volcano("Running"), {W: 4}, "queued"),
        (volcano("Pending"), {}, "queued"),
        ({"metadata": {"name": "mnist"}}, {}, "queued"),
        (volcano("Pending"), {S: 4}, "starting"),
        (volcano("Running"), {R: 3, S: 1}, "starting"),
        (volcano("Running"), {R: 3, W: 1}, "starting"),
        (volcano("Pending"), {R: 4}, "running"),
        (holds("Created", "Running"), {R: 3, OK: 1}, "running"),
        # what has ended
        (volcano("Completed"), {}, "succeeded"),
        (volcano("Completed"), {OK: 4}, "succeeded"),
        (volcano("Completed"), {OK: 1, R: 3}, "ending"),
        (volcano("Failed"), {BAD: 1}, "failed"),
        (volcano("Terminated"), {}, "failed"),
        (volcano("Aborted"), {}, "failed"),
        (holds("Complete"), {OK: 2, BAD: 1}, "succeeded"),
        (holds("Failed"), {E: 3, BAD: 1}, "ending"),
        ({"status": {"terminalState": "Failed"}}, {}, "failed"),
        # on the way to an end
        (volcano("Completing"), {E: 4}, "ending"),
        (volcano("Terminating"), {R: 4}, "ending"),
        (holds("SuccessCriteriaMet"), {OK: 4}, "ending"),
        (holds("FailureTarget"), {BAD: 1}, "ending"),
        (holds("Running"), {OK: 4}, "ending"),
        (holds("Running"), {BAD: 1, OK: 3}, "ending"),
        (holds("Running"), {E: 4}, "ending"),
        (holds("Running"), {R: 1, E: 3}, "ending"),
        ({"metadata": {"deletionTimestamp": DELETED}}, {R: 4}, "ending"),
        (None, {E: 1}, "ending"),
        (None, {}, "gone"),
        (None, {OK: 4}, "gone"),
        # once more
        (volcano("Restarting"), {E: 4}, "restarting"),
        (volcano("Restarting"), {}, "restarting"),
        (holds("Running"), {R: 3, A: 1}, "restarting"),
        (holds("Running"), {R: 3, BAD: 1, S: 1}, "restarting"),
        ({"status": {"restarts": 1}}, {S: 4}, "restarting"),
        ({"status": {"state": {"phase": "Pending"}, "retryCount": 2}}, {S: 4}, "restarting"),
        ({"status": {"restarts": 1}}, {R: 4}, "running"),
        # preempted, or restarted, and without a node again
        (holds("Restarting"), {W: 4}, "queued"),
        (volcano("Pending"), {W: 3, BAD: 1}, "queued"),
        # by the stack's key alone
        ({"spec": {"suspend": True}, **holds("Suspended")}, {}, "suspended"),
        ({"spec": {"runPolicy": {"suspend": True}}}, {}, "suspended"),
        ({"spec": {"suspend": True}}, {E: 4}, "ending"),
        ({"spec": {"suspend": False}, **holds("Suspended")}, {R: 4}, "running"),
        ({"spec": {"suspend": True}, "metadata": {"labels": {QUEUE_LABEL: "vision"}}}, {}, "queued"),
        # of which the truth is not known
        (holds("Running"), {R: 3, LOST: 1}, "unknown"),
        (volcano("Failed"), {E: 3, LOST: 1}, "ending"),
        (volcano("Running"), None, "unknown"),
        (None, None, "unknown"),
        (volcano("Completed"), None, "succeeded"),
        # of which the job object may not be read
        ({}, {R: 4}, "running"),
        ({}, {W: 4}, "queued"),
        ({}, {}, "unknown"),
        ({}, {OK: 4}, "unknown"),
        ({}, {BAD: 1, OK: 3}, "unknown"),
    ],
)
def test_the_phase_follows_from_the_pods(
    job: dict[str, Any] | None, pods: dict[PodState, int] | None, phase: str
) -> None:
    assert phase_of(job, pods) == phase


@pytest.mark.parametrize(
    ("job", "end"),
    [
        (volcano("Running"), None),
        (volcano("Restarting"), None),
        (volcano("Completing"), "succeeded"),
        (volcano("Aborting"), "failed"),
        (holds("SuccessCriteriaMet"), "succeeded"),
        (holds("FailureTarget"), "failed"),
        (holds("Complete"), "succeeded"),
    ],
)
def test_the_end_of_a_job_is_decided_before_its_last_pods_have_stopped(job: dict[str, Any], end: str | None) -> None:
    assert decided_end(job) == end


def test_a_job_that_kueue_should_admit_is_queued_also_where_it_has_lost_its_label() -> None:
    job = {"spec": {"suspend": True}}
    assert [phase_of(job, {}, admission=name) for name in ("kueue", "none")] == ["queued", "suspended"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_runs_when_the_pods_that_it_needs_run(backend: str) -> None:
    roles = fitting(backend, {"master": {"replicas": 1}, "worker": {"replicas": 3}})
    made = plan(backend=backend, roles=roles)
    job, needed = job_body(job_manifests(made)), made.min_available
    gang = {"kind": "PodGroup", "spec": {"minMember": needed}}  # a TrainJob has the number nowhere else
    assert phase_of(job, {R: needed - 1}, gang) == "starting"
    assert phase_of(job, {R: needed}, gang) == "running"
    assert phase_of(job, {R: needed - 1, OK: 1}, gang) == "running"
    assert phase_of(job, {R: needed - 1, A: 1}, gang) == "restarting"
    assert phase_of(job, {R: needed - 1, BAD: 1}, gang) == "ending", "no other pod was made for it"
    assert phase_of(job, {R: needed - 1, BAD: 1, S: 1}, gang) == "restarting"


def test_an_elastic_job_runs_without_its_last_pods() -> None:
    elastic = {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 4}}
    made = plan(**{**JOB, "launcher": {"torchrun": elastic}, "roles": {"worker": {"replicas": 4}}})
    job = job_body(job_manifests(made))
    assert phase_of(job, {R: 2, W: 2}) == "running"
    assert phase_of(job, {R: 1, W: 3}) == "starting"


def test_a_gang_has_the_number_of_pods_that_its_job_lacks() -> None:
    assert needed_pods({}, {"spec": {"minMember": 4}}) == 4
    assert needed_pods({}, {"spec": {"podSets": [{"count": 1}, {"count": 3}]}}) == 4
    assert needed_pods(None, None) == needed_pods(None, {"spec": {"minMember": "4"}}) == 0


def reported(phase: str = "Running", *containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    body = pod("mnist-0a1b2c", 0, phase)
    body["status"] |= {"containerStatuses": [*containers], **status} if containers else status
    return body


def container(restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"name": "main", "restartCount": restarts, "state": state}


def ready(pod: str, containers: str = "True", reason: str = "") -> list[dict[str, str]]:
    return [
        {"type": "Ready", "status": pod, "reason": reason},
        {"type": "ContainersReady", "status": containers},
        {"type": "PodScheduled", "status": "True"},
    ]


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (pod("mnist-0a1b2c", 0, "Pending", None), W),
        (pod("mnist-0a1b2c", 0, "Pending"), S),
        (reported("Running", container(running={})), R),
        (reported("Running", container(3, running={})), R),
        (reported("Running", container(waiting={"reason": "ContainerCreating"})), S),
        (reported("Running", container(1, waiting={"reason": "CrashLoopBackOff"})), A),
        (reported("Running", container(terminated={"exitCode": 1})), A),
        (reported("Running", container(running={}), container(terminated={"exitCode": 0})), R),
        (reported("Succeeded"), OK),
        (reported("Failed", reason="Evicted"), BAD),
        (reported("Unknown"), LOST),
        (reported(reason="NodeLost"), LOST),
        (reported(conditions=ready("False")), LOST),
        (reported(conditions=ready("True")), R),
        (reported(conditions=ready("False", containers="False")), R),
        (reported(conditions=ready("False", reason="ReadinessGatesNotReady")), R),
        ({}, W),
        (None, W),
    ],
)
def test_the_state_of_a_pod(body: Any, state: PodState) -> None:
    assert pod_state(body) is state


def test_a_pod_that_is_being_deleted_ends_whatever_it_did() -> None:
    for phase, on in (("Running", "node-0"), ("Pending", None)):
        body = pod("mnist-0a1b2c", 0, phase, on)
        body["metadata"]["deletionTimestamp"] = DELETED
        assert pod_state(body) is E


def test_objects_of_other_programs_have_a_phase() -> None:
    """Their fields may be of any type."""
    for job in (volcano_job("mnist-0a1b2c"), {"spec": 3, "status": []}, {"spec": {"tasks": "many"}}):
        assert phase_of(job, {R: 1}) is Phase.RUNNING
