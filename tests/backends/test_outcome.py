"""Whether a job has succeeded, by the status that each operator writes."""

from __future__ import annotations

from typing import Any

import pytest

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome, Word, is_changed_since, seconds_of

CREATED, ENDED = "2026-03-02T08:00:00Z", "2026-03-02T09:30:05Z"


def condition(kind: str, status: str = "True", at: str = ENDED) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": at, "reason": kind, "message": ""}


def phase(name: str) -> dict[str, Any]:
    return {"state": {"phase": name, "lastTransitionTime": ENDED}, "running": 0, "succeeded": 2, "minAvailable": 2}


def replicas(failed: int) -> dict[str, Any]:
    """Counts of pods, as the operator leaves zeros out of its status."""
    return {"Master": {"succeeded": 1}, "Worker": {"succeeded": 3 - failed, **({"failed": failed} if failed else {})}}


def conditions(*kinds: str) -> dict[str, Any]:
    """The condition of the end is the last one, after those that have ended or still hold."""
    return {"conditions": [condition("Created", at=CREATED), condition("Running", "False"), *map(condition, kinds)]}


# Status, as the operator of the pinned version writes it, by backend and outcome.
STATUSES: dict[str, dict[Word, list[dict[str, Any]]]] = {
    "volcano": {
        "succeeded": [phase("Completed")],
        "failed": [phase("Failed"), phase("Terminated")],
        "stopped": [phase("Aborted")],
        "not ended": [phase("Running"), phase("Completing"), phase("Restarting"), phase("Pending"), {"state": {}}, {}],
    },
    "jobset": {
        "succeeded": [{**conditions("Completed"), "terminalState": "Completed"}],
        "failed": [{**conditions("Failed"), "terminalState": "Failed"}],
        "not ended": [conditions("Suspended"), conditions("StartupPolicyCompleted"), {"restarts": 1}],
    },
    "trainer": {
        "succeeded": [conditions("Complete")],
        "failed": [conditions("Failed")],
        "not ended": [conditions("Suspended"), conditions()],
    },
    "kubeflow": {
        "succeeded": [conditions("Succeeded"), {**conditions("Succeeded"), "replicaStatuses": replicas(failed=0)}],
        "succeeded in part": [{**conditions("Succeeded"), "replicaStatuses": replicas(failed=1)}],
        "failed": [conditions("Failed")],
        "not ended": [conditions("Restarting"), {"conditions": [condition("Succeeded", "False")]}],
    },
    "kubedl": {
        "succeeded": [conditions("Succeeded"), {**conditions("Succeeded"), "replicaStatuses": replicas(failed=0)}],
        "succeeded in part": [{**conditions("Succeeded"), "replicaStatuses": replicas(failed=1)}],
        "failed": [conditions("Failed")],
        "not ended": [conditions("Queuing"), {"conditions": None}],
    },
    "kubernetes": {
        "succeeded": [conditions("SuccessCriteriaMet", "Complete")],
        "failed": [conditions("FailureTarget", "Failed")],
        "not ended": [conditions("SuccessCriteriaMet"), conditions("FailureTarget"), conditions("Suspended"), {}],
    },
}
CASES = [
    pytest.param(backend, word, status, id=f"{backend}-{word}-{index}")
    for backend, words in STATUSES.items()
    for word, statuses in words.items()
    for index, status in enumerate(statuses)
]


def test_every_backend_is_here() -> None:
    assert set(STATUSES) == set(defaults.BACKENDS)


@pytest.mark.parametrize(("backend", "word", "status"), CASES)
def test_the_outcome_is_what_the_operator_says(backend: str, word: Word, status: dict[str, Any]) -> None:
    outcome = BACKENDS[backend].OUTCOME({"metadata": {"name": "resnet-1f3a9c"}, "status": status}, [])
    assert outcome == Outcome(word, "" if word == "not ended" else ENDED)


def pod(phase: str, **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": "resnet-1f3a9c-worker-1", **metadata}, "status": {"phase": phase}}


@pytest.mark.parametrize("backend", STATUSES)
def test_a_job_is_complete_in_part_if_a_pod_has_failed_and_nothing_has_replaced_it(backend: str) -> None:
    """JobSet's jobs leave a failed pod beside the one that they have made in its place; the status of the others says
    it."""
    complete, done = STATUSES[backend]["succeeded"][0], pod("Succeeded")
    killed = pod("Failed", deletionTimestamp=ENDED)
    judge = BACKENDS[backend].OUTCOME
    assert judge({"status": complete}, [done, killed]) == Outcome("succeeded", ENDED)
    word = "succeeded in part" if backend == "volcano" else "succeeded"
    assert judge({"status": complete}, [done, pod("Failed")]).word == word
    assert judge({"status": STATUSES[backend]["failed"][0]}, [done, pod("Failed")]).word == "failed"


@pytest.mark.parametrize(
    ("created", "outcome", "seconds"),
    [
        (CREATED, Outcome("succeeded", ENDED), 5405),
        (CREATED, Outcome(), None),
        (CREATED, Outcome("succeeded", "soon"), None),
        ("2026-03-02T08:00:00", Outcome("succeeded", ENDED), None),
        (ENDED, Outcome("failed", CREATED), 0),
    ],
)
def test_the_time_from_creation_to_end(created: str, outcome: Outcome, seconds: int | None) -> None:
    assert seconds_of({"metadata": {"creationTimestamp": created}}, outcome) == seconds


DONE = Outcome("succeeded", "2026-03-02T09:30:05Z")


@pytest.mark.parametrize(
    ("manager", "time", "changed"),
    [
        ("trainform", "2026-03-02T09:30:06Z", True),
        ("trainform", "2026-03-02T09:30:05Z", False),
        ("trainform", "2026-03-02T08:00:00Z", False),
        ("kubectl-edit", "2026-03-02T10:00:00Z", False),  # which `trainform drift` shows, and no release has
        ("controller-manager", "2026-03-02T10:00:00Z", False),
    ],
)
def test_a_job_that_was_changed_in_place_after_its_end(manager: str, time: str, changed: bool) -> None:
    made = {"manager": "trainform", "time": "2026-03-02T07:00:00Z"}
    assert (
        is_changed_since({"metadata": {"managedFields": [made, {"manager": manager, "time": time}]}}, DONE) is changed
    )
