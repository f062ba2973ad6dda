"""The facts that tell why a job waits, read from a server that answers as an API server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.running.waiting_jobs import OF_KUEUE, event, made, pods_of, snapshot, workload
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import NAMESPACE, node, pod, queue
from tests.support.websites import Answer, website
from trainform.running.facts import Facts, read_facts
from trainform.running.snapshot import Snapshot

JOB = made()
PENDING = f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/localqueues/night/pendingworkloads"


@pytest.fixture(name="facts_of")
def facts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def reading(given: Snapshot, serve: Any) -> Facts:
        with website(serve) as server:
            use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
            return read_facts(given, 10.0)

    return reading


def test_nodes_and_queues(facts_of: Any) -> None:
    objects = [node("node-0"), pod("bert-77aa01", 0), queue("night")]
    found = facts_of(snapshot(JOB), ApiObjects(objects))
    assert [each.name for each in found.live.nodes] == ["node-0"]
    assert [each.name for each in found.live.queues] == ["night"]
    assert (found.position, found.nodes, found.live.not_read) == (None, frozenset(), {})


def test_what_may_not_be_read_is_named(facts_of: Any) -> None:
    hidden = ApiObjects([node("node-0")], forbidden=frozenset({"nodes", "*/queues", "*/pods"}))
    found = facts_of(snapshot(JOB), hidden)
    assert (found.live.nodes, found.live.queues) == (None, None)
    assert found.live.not_read["nodes"] == "this account has no permission to list nodes"


def test_the_nodes_of_pods_that_were_evicted(facts_of: Any) -> None:
    pods = pods_of(JOB)
    given = snapshot(JOB, pods=pods, events=[event(pods[0], "Evict", "Pod is evicted, because of preempt")])

    def scheduled(name: str, on: str, at: int) -> dict[str, Any]:
        message = f"Successfully assigned {NAMESPACE}/{name} to {on}"
        metadata = {"name": f"{name}.{at}", "namespace": NAMESPACE}
        body = {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": {"name": name}}
        return {**body, "reason": "Scheduled", "message": message}

    placed = [scheduled(pods[0]["metadata"]["name"], "node-3", 1), scheduled("other", "node-4", 2)]
    assert facts_of(given, ApiObjects(placed)).nodes == {"node-3"}
    assert facts_of(snapshot(JOB, pods=pods), ApiObjects(placed)).nodes == frozenset()


def test_the_position_in_the_queue_where_kueue_shows_it(facts_of: Any) -> None:
    given, hidden = snapshot(OF_KUEUE, gang=workload(OF_KUEUE)), ApiObjects()
    names = ["other", given.gang["metadata"]["name"]]  # type: ignore[index]
    items = [{"metadata": {"name": name}, "positionInClusterQueue": at} for at, name in enumerate(names)]

    def visible(path: str) -> Answer:
        if path.partition("?")[0] != PENDING:
            return hidden(path)
        return 200, "application/json", json.dumps({"items": items, "metadata": {}}).encode()

    assert facts_of(given, visible).position == 1
    assert facts_of(given, hidden).position is None
