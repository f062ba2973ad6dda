"""Whose a pod is, and what it asks for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.support.live_objects import GPU, NAMESPACE, pod
from trainform.cluster.budgets import add_quota_holders, pod_group
from trainform.cluster.facts import LiveQueue, LiveQuota
from trainform.cluster.held import add_pods, add_queue_holders, free_node, held_by_job, held_pod, pod_reader, priorities


def with_labels(owner: str = "", **labels: str) -> dict[str, Any]:
    body = pod("mnist-0a1b2c", 0)
    body["metadata"]["labels"] = {name.replace("__", "/").replace("_", "-"): value for name, value in labels.items()}
    body["metadata"]["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}] if owner else []
    return body


@pytest.mark.parametrize(
    ("labels", "owner", "job"),
    [
        ({"volcano.sh__job_name": "a"}, "b", "a"),
        ({"training.kubeflow.org__job_name": "a", "job_name": "a"}, "b", "a"),
        ({"job_name": "a"}, "b", "a"),
        # each part of a JobSet is a Job of its own
        ({"jobset.sigs.k8s.io__jobset_name": "a", "job_name": "a-worker-0"}, "a-worker-0", "a"),
        ({"batch.kubernetes.io__job_name": "a"}, "b", "a"),
        ({}, "notebook-7d9f", "notebook-7d9f"),
        ({}, "", "mnist-0a1b2c-worker-0"),
    ],
)
def test_whose_a_pod_is(labels: dict[str, str], owner: str, job: str) -> None:
    assert held_pod(with_labels(owner, **labels)).job == f"{NAMESPACE}/{job}"


LEAST = {GPU: "24", f"requests.{GPU}": "24", "limits.cpu": "12", "count/pods": "3", "pods": "3"}  # as Volcano writes it


def test_a_gang_waits_before_its_pods_exist() -> None:
    """Volcano makes the pods of a job when its queue has room; the PodGroup alone says what it requests."""
    metadata = {"namespace": NAMESPACE, "name": "clip-77aa01-4f1c", "ownerReferences": [{"name": "clip-77aa01"}]}
    body = {"metadata": metadata, "spec": {"queue": "night", "minResources": LEAST}}
    waiting = pod_group({**body, "status": {"phase": "Pending"}})
    assert (waiting.job, waiting.queue, waiting.requests) == (
        f"{NAMESPACE}/clip-77aa01",
        "night",
        {GPU: Decimal(24), "pods": Decimal(3)},
    )
    assert pod_group({**body, "status": {"phase": "Running"}}).requests == {}
    unplaced = pod("clip-77aa01", 8)
    unplaced["spec"].pop("nodeName", None)
    unplaced["status"] = {"phase": "Pending"}
    assert held_pod(unplaced).waits and not held_pod(unplaced).holds


@pytest.mark.parametrize(
    ("phase", "on", "holds"),
    [
        ("Running", "node-0", True),
        ("Pending", "node-0", True),
        ("Pending", None, False),
        ("Succeeded", "node-0", False),
    ],
)
def test_a_pod_holds_what_it_is_bound_to(phase: str, on: str | None, holds: bool) -> None:
    assert held_pod(pod("mnist-0a1b2c", 0, phase, on=on)).holds is holds


def test_a_pod_that_is_being_deleted_still_holds_its_room() -> None:
    body = pod("mnist-0a1b2c", 0)
    body["metadata"]["deletionTimestamp"] = "2026-11-22T14:02:00Z"
    held = held_pod(body)
    assert (held.state, held.holds) == ("ending", True)


def test_a_job_keeps_its_pods_if_all_of_them_say_so() -> None:
    bodies = [pod(job, index) for job in ("mnist-0a1b2c", "bert-77aa01") for index in range(2)]
    for body, value in zip(bodies, ("false", "False", "false", "true"), strict=True):
        body["metadata"]["annotations"]["volcano.sh/preemptable"] = value
    queue = add_queue_holders(LiveQueue("night", 1, {}, {}, {}), [held_pod(body) for body in bodies])
    assert queue.firm == {f"{NAMESPACE}/mnist-0a1b2c"}
    assert set(queue.holders) == {f"{NAMESPACE}/mnist-0a1b2c", f"{NAMESPACE}/bert-77aa01"}
    labelled = pod("vit-010203", 0)
    labelled["metadata"]["labels"]["volcano.sh/preemptable"] = "false"
    assert held_pod(labelled).firm
    assert not held_pod(pod("vit-010203", 0)).firm


def test_amounts_are_summed_and_rounded_up_to_a_thousandth() -> None:
    bodies = [pod("mnist-0a1b2c", index) for index in range(3)]
    for body in bodies:
        body["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "0.0005", "memory": "1536Mi", GPU: "0"}
    amounts = held_by_job(map(held_pod, bodies))
    assert amounts == {f"{NAMESPACE}/mnist-0a1b2c": {"cpu": "2m", "memory": "4608Mi", "pods": "3"}}


def test_a_quota_counts_limits_too() -> None:
    """Requests alone count for nodes and queues."""
    body = pod("mnist-0a1b2c", 0)
    body["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "4", "memory": "1Gi"},
        "limits": {"cpu": "8"},
    }
    held, job = held_pod(body), f"{NAMESPACE}/mnist-0a1b2c"
    requested = {"cpu": "4", "memory": "1Gi", "pods": "1"}
    quota = add_quota_holders(LiveQuota(NAMESPACE, "team", {"limits.cpu": "16"}), [held])
    assert quota.holders == {job: {**requested, "limits.cpu": "8"}}
    assert held_by_job([held]) == {job: requested}


def test_the_priority_of_a_job_is_that_of_its_highest_pod() -> None:
    bodies = [pod("mnist-0a1b2c", index) for index in range(3)]
    for body, priority in zip(bodies, (100, None, 0), strict=True):
        body["spec"] |= {} if priority is None else {"priority": priority}
    assert priorities(map(held_pod, bodies)) == {f"{NAMESPACE}/mnist-0a1b2c": 100}


@pytest.mark.parametrize("body", [None, [], "text", {"metadata": 5, "spec": [], "status": "x"}])
def test_objects_of_any_shape(body: Any) -> None:
    assert not held_pod(body).holds
    node = free_node(body)
    assert node is not None
    assert add_pods(node, [held_pod(body)]).requested == {"pods": "1"}


def test_pods_of_a_list_share_what_they_ask_for_and_no_more() -> None:
    read = pod_reader()
    first, second, other = (read(pod("mnist-0a1b2c", index, accelerators=each)) for index, each in enumerate((8, 8, 4)))
    assert first.requests is second.requests
    assert [first.requests[GPU], other.requests[GPU]] == [Decimal(8), Decimal(4)]
    sidecar = pod("mnist-0a1b2c", 3)
    sidecar["spec"]["initContainers"] = [sidecar["spec"]["containers"][0]]
    assert read(sidecar).requests[GPU] == 8
    sidecar["spec"]["initContainers"] = [{**sidecar["spec"]["containers"][0], "restartPolicy": "Always"}]
    assert read(sidecar).requests[GPU] == 16
