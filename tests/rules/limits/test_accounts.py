"""The service accounts of pods."""

from __future__ import annotations

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw

TRAIN = limited(service_accounts=["train"])
REFUSED = "the environment dev does not allow this service account (allowed: train)"


def test_service_accounts_by_field() -> None:
    assert found("TF-ACC-1", TRAIN, service_account="train") == {}
    assert found("TF-ACC-1", TRAIN, service_account="admin") == {"service_account": REFUSED}
    assert found("TF-ACC-1", TRAIN) == {"service_account": REFUSED}, "pods that name none have the account default"
    assert found("TF-ACC-1", limited(service_accounts=["default"])) == {}
    assert found("TF-ACC-1", limited(), service_account="admin") == {}
    assert found("TF-ACC-1", limited(service_accounts=[]), service_account="train") != {}


def test_service_accounts_in_patches() -> None:
    for judge, rest in ((by_role, {}), (by_job, {"service_account": "train"})):
        assert set(judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "admin"}}, **rest).values()) == {REFUSED}
        assert judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "train"}}, **rest) == {}


def test_the_deprecated_field() -> None:
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "admin"})) == {"spec.serviceAccount": REFUSED}
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "train"})) == {}
    both = {"serviceAccountName": "train", "serviceAccount": "admin"}
    assert raw("TF-ACC-1", TRAIN, {}, pod(both)) == {}, "the new field counts"
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccountName": ""})).keys() == {"spec.serviceAccountName"}
