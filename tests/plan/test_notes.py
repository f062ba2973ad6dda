"""What is allowed, but may surprise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import WITH_EXTRAS, plan

SHARED = "host network: every pod of the role of rank 0 declares the rendezvous port, so each needs its own node"


def notes(**parts: Any) -> list[str]:
    return list(plan(**{"shared_memory": "1Gi", **parts}).notes)


def test_nothing_to_say() -> None:
    assert notes() == []


@pytest.mark.parametrize(
    ("replicas", "network", "noted"),
    [
        (2, {"host": True}, True),
        (1, {"host": True}, False),
        (2, {}, False),
        (2, {"host": True, "ports": "per-replica"}, False),
    ],
)
def test_a_port_of_the_node_for_every_pod_of_a_role(replicas: int, network: dict[str, Any], noted: bool) -> None:
    roles = {"watcher": WITH_EXTRAS["evaluation-watcher"], "worker": {"replicas": replicas}}
    assert (SHARED in notes(network=network, roles=roles)) is noted


def test_what_torchrun_decides_and_a_ttl_takes_away() -> None:
    launcher = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}
    assert notes(launcher=launcher, ttl="12h") == [
        "ttl 12h: a job deleted by it looks like drift, and the next `pulumi up` trains again",
        "elastic: ranks and world size are given by torchrun at run time, not by the plan",
    ]


def test_no_shared_memory() -> None:
    told = "no shared_memory: /dev/shm has the runtime's 64 MB, too small for PyTorch data loaders with workers"
    assert notes(shared_memory=None) == [told]
    assert notes(shared_memory=None, roles={"worker": {"shared_memory": "1Gi"}}) == []


def test_restarts_of_replicas_with_templates_of_their_own() -> None:
    told = "ports per replica: `restart` counts for each replica, not over the role"
    network = {"host": True, "ports": "per-replica"}
    assert notes(network=network, restart="3 times") == [told]
    assert notes(network=network, restart="on-failure") == []
    assert notes(restart="3 times") == []
