"""Whether a job has succeeded, by the status that each operator writes."""

from __future__ import annotations

from typing import Any

import pytest

from trainform import defaults
from trainform.backends.outcome import Outcome, Word, seconds_of
from trainform.backends.table import BACKENDS

CREATED, ENDED = "2026-03-02T08:00:00Z", "2026-03-02T09:30:05Z"


def condition(kind: str, status: str = "True", at: str = ENDED) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": at, "reason": kind, "message": ""}


def phase(name: str) -> dict[str, Any]:
    return {"state": {"phase": name, "lastTransitionTime": ENDED}, "running": 0, "succeeded": 2, "minAvailable": 2}


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
        "succeeded": [conditions("Succeeded")],
        "failed": [conditions("Failed")],
        "not ended": [conditions("Restarting"), {"conditions": [condition("Succeeded", "False")]}],
    },
    "kubedl": {
        "succeeded": [conditions("Succeeded")],
        "failed": [conditions("Failed")],
        "not ended": [conditions("Queuing"), {"conditions": None}],
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
    outcome = BACKENDS[backend].OUTCOME({"metadata": {"name": "resnet-1f3a9c"}, "status": status})
    assert outcome == Outcome(word, "" if word == "not ended" else ENDED)


@pytest.mark.parametrize("backend", STATUSES)
def test_a_job_without_a_status_has_not_ended(backend: str) -> None:
    assert BACKENDS[backend].OUTCOME({"metadata": {}}) == Outcome()


def test_a_job_that_failed_and_says_that_it_completed_counts_as_failed() -> None:
    status = conditions("Completed", "Failed")
    assert BACKENDS["jobset"].OUTCOME({"status": status}).word == "failed"


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


def test_a_job_without_a_time_of_creation_took_an_unknown_time() -> None:
    assert seconds_of({"metadata": {}}, Outcome("succeeded", ENDED)) is None
