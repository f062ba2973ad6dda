"""The end of jobs: how long they run, and that they are deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.rendering import job_problems
from tests.support.samples import experiment, fitting
from trainform.backends.backend import BACKENDS

ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
DELETED = limited(severity={"TF-RUN-1": "error"})
DAY = limited(max_run_time="1d")
LONGER = "the pods may run longer than the environment dev allows (1d)"
STAYS = "the job stays after its end, and the environment dev requires that it is deleted"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_is_deleted_after_its_end(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-RUN-1", DELETED, ttl="1h", **parts) == {}
    assert found("TF-RUN-1", DELETED, **parts) == {"ttl": STAYS}
    assert found("TF-RUN-1", limited(), **parts) == {}, "off by default"


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"ttlSecondsAfterFinished": 0}),
        ("kubeflow.org/v1", "TFJob", {"runPolicy": {"ttlSecondsAfterFinished": 0}}),
        ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", {"template": {"spec": {"ttlSecondsAfterFinished": 0}}}),
    ],
)
def test_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind}
    assert raw("TF-RUN-1", DELETED, {**body, "spec": spec}, pod({})) == {}
    assert set(raw("TF-RUN-1", DELETED, {**body, "spec": {}}, pod({})).values()) == {STAYS}
    assert raw("TF-RUN-1", DELETED, {"apiVersion": "v1", "kind": "Service"}) == {}


@pytest.mark.parametrize(("deadline", "refused"), [(86_400, False), (86_401, True), (None, True)])
def test_run_time(deadline: int | None, refused: bool) -> None:
    patch = {"spec": {"activeDeadlineSeconds": deadline}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", DAY, patch).values()) == ({LONGER} if refused else set())
        assert judge("TF-RUN-2", limited(), patch) == {}
    assert (raw("TF-RUN-2", DAY, {}, pod({"activeDeadlineSeconds": deadline})) != {}) is refused
    assert raw("TF-RUN-2", DAY, {}, pod({"activeDeadlineSeconds": "10"})) != {}


@pytest.mark.parametrize(
    ("grace", "deadline", "refused"),
    [
        (30, 86_400, False),
        (0, 86_400, False),
        (None, 86_400, False),
        (630, 85_800, False),
        (630, 85_801, True),
        (86_400, 30, False),
        (86_400, 31, True),
    ],
)
def test_the_time_to_end_counts_as_run_time(grace: int | None, deadline: int, refused: bool) -> None:
    patch = {"spec": {"activeDeadlineSeconds": deadline, "terminationGracePeriodSeconds": grace}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", DAY, patch).values()) == ({LONGER} if refused else set())
        assert judge("TF-RUN-2", limited(), patch) == {}


@pytest.mark.parametrize(
    ("limits", "longest"),
    [({}, 86_400), ({"max_run_time": "30d"}, 86_400), ({"max_run_time": "1h"}, 3600), ({"max_run_time": "10s"}, 30)],
)
def test_the_time_to_end_is_bounded_everywhere(limits: dict[str, str], longest: int) -> None:
    reason = f"the pods may take longer to end than the environment dev allows ({longest} s)"
    patch = {"spec": {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": longest + 1}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", limited(**limits), patch).values()) == {reason}
    patch = {"spec": {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": longest}}
    assert by_role("TF-RUN-2", limited(**limits), patch) == {}


def test_a_grace_period_that_is_too_long_is_refused_at_its_field() -> None:
    roles = {"worker": {"replicas": 2, "grace_period": "25h"}}
    reason = "the pods may take longer to end than the environment dev allows (86400 s)"
    assert found("TF-RUN-2", limited(), roles=roles) == {"roles.worker.grace_period": reason}
    roles["worker"]["grace_period"] = "86400s"
    assert found("TF-RUN-2", limited(), roles=roles) == {}


def test_run_time_without_a_field() -> None:
    assert found("TF-RUN-2", DAY) == {"max_run_time": LONGER}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_field_satisfies_the_limit(backend: str) -> None:
    """The field satisfies the limit for jobs and for pods. A long time to end counts too."""
    roles = fitting(backend, ROLES)
    for time, found_ in (("24h", {}), ("25h", {"max_run_time": LONGER})):
        assert found("TF-RUN-2", DAY, backend=backend, roles=roles, max_run_time=time) == found_
    late = {name: {**role, "grace_period": "90s"} for name, role in roles.items()}
    parts = {"backend": backend, "roles": late}
    times: list[tuple[dict[str, Any], str]] = [
        ({}, "write `max_run_time: 86340s` or less"),
        ({"max_run_time": "24h"}, "write `max_run_time: 86340s` or less, or 86340 in a patch"),
    ]
    for field, fix in times:
        problems = job_problems(experiment(**parts, **field), DAY)
        assert {(problem.path, problem.fix) for problem in problems} == {("max_run_time", fix)}
    assert found("TF-RUN-2", DAY, **parts, max_run_time="86340s") == {}


@pytest.mark.parametrize(
    ("backend", "spec"),
    [
        (
            "jobset",
            {"replicatedJobs": {name: {"template": {"spec": {"activeDeadlineSeconds": 86_400}}} for name in ROLES}},
        ),
        ("kubeflow", {"runPolicy": {"activeDeadlineSeconds": 86_400}}),
        ("kubedl", {"activeDeadlineSeconds": 86_400}),
        ("trainer", {"activeDeadlineSeconds": 86_400}),
    ],
)
def test_run_time_of_a_job(backend: str, spec: dict[str, Any]) -> None:
    patch = {"job": {"spec": spec}}
    assert found("TF-RUN-2", DAY, backend=backend, roles=ROLES, manifest_overrides=patch) == {}
    shorter = limited(max_run_time="1h")
    assert len(found("TF-RUN-2", shorter, backend=backend, roles=ROLES, manifest_overrides=patch)) > 0
