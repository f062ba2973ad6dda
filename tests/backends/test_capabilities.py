"""Capabilities that a container has and its processes do not get."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, plan

FABRIC: dict[str, Any] = {"network": {"rdma": True}, "shared_memory": "1Gi"}
ALICE = {"user": 1000, "home": "/home/alice"}


def notes(cluster: dict[str, Any] | None = None, **parts: Any) -> list[str]:
    made = plan(cluster=environment(**({} if cluster is None else cluster)), **{**FABRIC, **parts})
    return [note for note in made.notes if "which only root's have" in note]


@pytest.mark.parametrize(
    ("run_as", "context", "user"),
    [
        (None, {}, None),
        ({"user": 0, "home": "/root"}, {}, None),
        (ALICE, {}, "user 1000"),
        (ALICE, {"containers": {"main": {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}}}}, None),
        (None, {"securityContext": {"runAsUser": 7}}, "user 7"),
        (None, {"containers": {"main": {"securityContext": {"runAsNonRoot": True}}}}, "a user other than root"),
    ],
)
def test_a_user_other_than_root(run_as: dict[str, Any] | None, context: dict[str, Any], user: str | None) -> None:
    roles = {"worker": {"replicas": 2, "pod_overrides": {"spec": context}}}
    found = notes(run_as=run_as, roles=roles)
    assert len(found) == (user is not None)
    for note in found:
        assert note.startswith(
            f"role worker (spec.containers.main): a process of {user} does not get the added IPC_LOCK"
        )
        assert "locked memory" in note


def test_on_every_operator(backend: str) -> None:
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    assert len(notes(run_as=ALICE, backend=backend, roles=roles)) == len(roles)


def test_nothing_is_added() -> None:
    assert notes({"rdma": {"resource": "rdma/hca", "capabilities": []}}, run_as=ALICE) == []
    assert notes(run_as=ALICE, network={"rdma": False}) == []
