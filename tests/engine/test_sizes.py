"""The largest objects that `check` accepts: the real server takes them as Pulumi applies them, and Volcano's controller
can still write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.support.rendering import job_problems, plan_job
from tests.support.samples import environment, experiment
from trainform.defaults import LARGEST_OBJECT, LARGEST_RECORD
from trainform.job.render import job_manifests

pytestmark = pytest.mark.proof("objects as large as the API server takes")

NAMESPACE = "t-sizes"
# More nodes than the sandbox has: the gang waits, and no pod is made.
CLUSTER = environment(
    namespace={"name": NAMESPACE},
    queues={},
    accelerators={"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 100_000}},
    ports="1-65535",
    limits={"host_network": True},
)
WORD = 1_000
PLURALS = {"ConfigMap": "configmaps", "Job": "jobs"}


@pytest.fixture(scope="module")
def server(live: Live) -> Iterator[Live]:
    """With a namespace for these tests alone."""
    live.create("namespaces", {"metadata": {"name": NAMESPACE}})
    yield live
    live.delete("namespaces", NAMESPACE)


def many_nodes(replicas: int, network: dict[str, Any], backend: str = "volcano") -> dict[str, Any]:
    return {
        "backend": backend,
        "launcher": {"deepspeed": {"script": "/code/train.py"}},
        "roles": {
            "master": {"accelerators": {"a800": 8}},
            "worker": {"replicas": replicas, "accelerators": {"a800": 8}},
        },
        "network": network,
    }


def largest(network: dict[str, Any], key: str, most: int, backend: str = "volcano") -> dict[str, Any]:
    """Return the object of the largest job that is accepted; `most` replicas are too many."""
    least = 1
    while most - least > 1:
        tried = (least + most) // 2
        accepted = not job_problems(experiment(**many_nodes(tried, network, backend)), CLUSTER)
        least, most = (tried, most) if accepted else (least, tried)
    plan = plan_job(experiment(**many_nodes(least, network, backend)), CLUSTER)
    (body,) = [made.body for made in job_manifests(plan) if made.key == key]
    size = len(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())
    assert size > 0.99 * LARGEST_OBJECT, f"{size} bytes for {least} replicas"
    return body


def apply(live: Live, body: dict[str, Any]) -> None:
    """Server-side apply, which notes the fields in the object as its manager's."""
    path = f"{live.path(PLURALS[body['kind']], NAMESPACE, body['metadata']['name'])}?fieldManager=trainform&force=true"
    answer = live.request("PATCH", path, body, "application/apply-patch+yaml")
    assert answer.status_code in (200, 201), answer.text


def test_a_job_of_many_pod_templates(server: Live) -> None:
    job = largest({"host": True, "ports": "per-replica"}, "job", 2_000)
    name = job["metadata"]["name"]
    apply(server, job)

    def noted() -> bool:
        status = server.get("jobs", name, NAMESPACE).get("status", {})
        return bool(status.get("state", {}).get("phase") == "Pending")

    until(noted, "Volcano's controller to write into the job")
    job["metadata"]["annotations"]["example.com/team"] = "vision"
    apply(server, job)
    server.delete("jobs", name, NAMESPACE)


def test_the_largest_record_of_what_is_deployed(server: Live) -> None:
    """Of quotation marks, which JSON in JSON makes longest; no word of a command is longer than Linux takes."""

    def record(marks: int) -> dict[str, Any]:
        data = many_nodes(2, {})
        words = [*['"' * WORD] * (marks // WORD), "x" + '"' * (marks % WORD)]
        data["roles"]["worker"]["init"] = [{"name": "notes", "command": words}]
        (body,) = [made.body for made in job_manifests(plan_job(experiment(**data), CLUSTER)) if made.is_record]
        return body

    def room(body: dict[str, Any]) -> int:
        return LARGEST_RECORD - sum(len(text.encode()) for text in body["data"].values())

    most = room(record(0)) // 2
    largest = record(most - 2 * (most // WORD))  # and what stands between two words
    assert room(largest) < 2 * WORD
    apply(server, largest | {"data": largest["data"] | {"version": "1.2.3.dev4+g0123456"}})


def test_a_list_of_many_hosts(server: Live) -> None:
    """Of an operator that does not give them to each container as a variable."""
    apply(server, largest({}, "launch-script", 100_000, "jobset"))
