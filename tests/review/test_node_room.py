"""Room for pods on nodes: now, when others finish, or never."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs_of_previews import BERT, GPU, NODES, judged, live_node, new_job, workers
from trainform.cluster.facts import LiveNode

SMALL = live_node("node-0", allocatable={"cpu": "96", "memory": "1Ti", GPU: "4", "pods": "110"})
SHUT = structs.replace(NODES[3], open=False)
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNREADY = structs.replace(NODES[3], taints=(NOT_READY,))
TAINT = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}
APART = [live_node("node-0", labels={"zone": "x"}), live_node("node-1", labels={"pool": "a"})]


def two_roles(master: int, worker: int, masters: int = 1, replicas: int = 1) -> dict[str, Any]:
    counts = {"master": (masters, master), "worker": (replicas, worker)}
    return {
        "roles": {name: {"replicas": many, "accelerators": {"a800": each}} for name, (many, each) in counts.items()}
    }


@pytest.mark.parametrize(
    ("parts", "nodes", "reason"),
    [
        (workers(5), NODES, "the nodes have room for 32 a800, and the job needs 40 a800"),
        (workers(1), [SMALL], "a pod of worker needs 8 a800, and no node has more than 4"),
        (workers(1, cpu="97"), NODES, "a pod of worker needs 97 cpu, and no node has more than 96"),
        # of 32; two pods of 5 never share a node of 8
        (two_roles(5, 5, 2, 3), NODES, "the nodes have room for 20 a800, and the job needs 25 a800"),
        (
            {"roles": {"reader": {"replicas": 4000}}},
            NODES,
            "the nodes have room for 440 pods, and the job needs 4000 pods",
        ),
        (
            workers(5),
            [*NODES[:3], SHUT],
            "the nodes have room for 24 a800, and the job needs 40 a800 (cordoned nodes not counted: 1)",
        ),
        (workers(1, node_selector={"zone": "x"}), NODES, "no node has the label zone=x"),
        (workers(1, node_selector={"zone": "x", "pool": "a"}), APART, "no node has the labels zone=x, pool=a"),
    ],
)
def test_pods_that_never_start(parts: dict[str, Any], nodes: list[LiveNode], reason: str) -> None:
    capacity = judged(new_job(**parts), *nodes)
    assert (capacity.verdict, capacity.clause) == ("never", f"never starts: {reason}")
    assert capacity.sentence == f"Never starts: {reason}."


@pytest.mark.parametrize(
    ("parts", "nodes", "reason"),
    [
        (
            workers(4),
            [*NODES[:3], SHUT],
            "the nodes have room for 24 a800, and the job needs 32 a800 (cordoned nodes not counted: 1)",
        ),
        (workers(4), [*NODES[:3], UNREADY], "the nodes have room for 24 a800, and the job needs 32 a800"),
        (workers(1), [SHUT], "no node takes pods (cordoned nodes not counted: 1)"),
        (
            workers(1),
            [UNREADY],
            "the pods of worker do not tolerate the taint node.kubernetes.io/not-ready:NoSchedule",
        ),
    ],
)
def test_pods_that_wait_for_nodes_which_are_cordoned_or_not_ready(
    parts: dict[str, Any], nodes: list[LiveNode], reason: str
) -> None:
    capacity = judged(new_job(**parts), *nodes)
    assert (capacity.verdict, capacity.reason) == ("later", reason)


@pytest.mark.parametrize(
    ("node", "role", "verdict"),
    [
        ({"labels": {"pool": "fast"}}, {"node_selector": {"pool": "fast"}}, "now"),
        ({"taints": ({**TAINT, "effect": "PreferNoSchedule"},)}, {}, "now"),
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Exists"}]}, "now"),
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Equal", "value": "cpu"}]}, "never"),
        (
            {"taints": (TAINT,)},
            {"tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoExecute"}]},
            "never",
        ),
        ({"requested": {GPU: "1"}}, {}, "never"),  # of the node's own pods, which never end
    ],
)
def test_labels_taints_and_what_belongs_to_the_node(node: dict[str, Any], role: dict[str, Any], verdict: str) -> None:
    assert judged(new_job(**workers(1, **role)), live_node("node-0", **node)).verdict == verdict


@pytest.mark.parametrize(
    ("parts", "held", "missing"),
    [
        (workers(4), (4, 0, 0, 0), 4),
        (two_roles(8, 8, 1, 3), (4, 0, 0, 0), 4),
        (workers(4), (4, 4, 0, 0), 8),
        (workers(3), (8, 4, 4, 0), 8),
        (workers(4), (8, 0, 0, 0), 8),
    ],
)
def test_the_least_that_must_become_free_is_missing(parts: dict[str, Any], held: tuple[int, ...], missing: int) -> None:
    """A node of 8 on which 4 are free lacks 4 for a pod of 8."""
    capacity = judged(new_job(**parts), *(live_node(f"node-{at}", {BERT: used}) for at, used in enumerate(held)))
    assert (capacity.verdict, capacity.clause) == ("later", f"waits for {missing} a800 held by {BERT}")
    assert {shortage.missing for shortage in capacity.shortages} == {str(missing)}


def test_pods_of_several_sizes_need_room_together() -> None:
    """Each role fits by itself: the worker takes the node that the master needs."""
    used = [live_node(f"node-{index}", {BERT: 6}) for index in (1, 2)]
    assert judged(new_job(**two_roles(4, 8)), NODES[0], *used).verdict == "later"
    assert judged(new_job(**two_roles(4, 8)), NODES[0], NODES[1], *used).verdict == "now"


def test_an_elastic_part_that_never_fits_does_not_wait() -> None:
    torchrun = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    capacity = judged(new_job(**workers(4), launcher=torchrun), *NODES[:3])
    assert (capacity.verdict, capacity.clause) == (
        "later",
        "starts with a part of its pods: the nodes have room for 24 a800, and the job needs 32 a800",
    )


@pytest.mark.parametrize(
    ("ports", "nodes", "verdict"), [({}, 1, "never"), ({}, 2, "now"), ({"ports": "per-replica"}, 1, "now")]
)
def test_a_port_of_the_node_lets_one_pod_on_it(ports: dict[str, Any], nodes: int, verdict: str) -> None:
    parts = {**workers(2, 1), "network": {"host": True, **ports}}
    assert judged(new_job(**parts), *NODES[:nodes]).verdict == verdict


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "kubedl", "jobset"])
def test_the_pods_of_every_operator(backend: str) -> None:
    job = new_job(**workers(4), launcher={"torchrun": {"script": "/app/train.py"}}, backend=backend)
    assert judged(job, *NODES).verdict == "now"
    assert judged(job, *NODES[:3]).verdict == "never"
