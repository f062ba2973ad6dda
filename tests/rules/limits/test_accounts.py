"""The service accounts of pods."""

from __future__ import annotations

from typing import Any

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw

TRAIN = limited(service_accounts=["train"])
REFUSED = "the environment dev does not allow this service account (allowed: default, train)"


def test_service_accounts_by_field() -> None:
    assert found("TF-ACC-1", TRAIN) == found("TF-ACC-1", limited()) == {}, "pods that name none"
    assert found("TF-ACC-1", limited(), service_account="default") == {}
    assert found("TF-ACC-1", TRAIN, service_account="train") == {}
    assert found("TF-ACC-1", TRAIN, service_account="admin") == {"service_account": REFUSED}
    assert found("TF-ACC-1", limited(), service_account="train").keys() == {"service_account"}


def test_service_accounts_in_patches() -> None:
    for judge, rest in ((by_role, {}), (by_job, {"service_account": "train"})):
        assert set(judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "admin"}}, **rest).values()) == {REFUSED}
        assert judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "train"}}, **rest) == {}


def test_the_deprecated_field() -> None:
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "admin"})) == {"spec.serviceAccount": REFUSED}
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "train"})) == {}
    both = {"serviceAccountName": "train", "serviceAccount": "admin"}
    assert raw("TF-ACC-1", TRAIN, {}, pod(both)) == {}, "the new field counts"
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccountName": ""})) == {}


def test_the_account_that_the_operator_makes_for_a_launcher_passes() -> None:
    mpi: dict[str, Any] = {
        "backend": "kubeflow",
        "launcher": {"mpi": {"command": ["python", "train.py"], "role": "launcher"}},
        "roles": {"launcher": {"replicas": 1, "ranked": False}, "worker": {"replicas": 2}},
    }
    assert found("TF-ACC-1", limited(), **mpi) == {}
