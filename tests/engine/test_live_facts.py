"""Facts of a live cluster for a review: a running job, who else holds something in its queue, and what somebody has
changed by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from trainform.cluster.facts import AppliedObject, LiveFacts, RequestedJob
from trainform.cluster.live import LiveReads

pytestmark = pytest.mark.proof(
    "the scheduler's pods, and the API server's managed fields; a local server answers in `make test`"
)

GPU = "baidu.com/a800_80g_cgpu"
NEIGHBOUR = "bert-77aa01"
PATIENCE = 30.0  # the tests' machine is busy


def neighbour(namespace: str, queue: str) -> dict[str, Any]:
    """Another team's job: two pods with an accelerator each."""
    container = {
        "name": "main",
        "image": "registry.example.com/ai/bert:1",
        "resources": {"requests": {"cpu": "4", GPU: "1"}, "limits": {"cpu": "4", GPU: "1"}},
    }
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": NEIGHBOUR, "namespace": namespace},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue,
            "minAvailable": 2,
            "tasks": [{"name": "worker", "replicas": 2, "template": template}],
        },
    }


def applied(project: Project, stack: str) -> list[AppliedObject]:
    """The objects of the stack's state."""
    resources = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())["deployment"]["resources"]
    bodies = [resource["inputs"] for resource in resources if resource["type"].startswith("kubernetes:")]
    return [AppliedObject(body) for body in bodies]


def test_a_running_job_its_neighbour_and_an_edit_by_hand(
    project: Project, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    project.copied("extras")
    stack = project.stack("extras")
    project.up(stack)
    job = project.plan("extras").job
    live.make(neighbour(project.namespace, "extras"))
    live.running_pods(project.namespace, 10)
    objects = applied(project, stack)
    asked = RequestedJob(next(item for item in objects if item.name == job), "extras")

    def read() -> LiveFacts:
        with LiveReads(None, project.namespace, PATIENCE) as reads:
            return reads.facts([asked], ["extras"], objects)

    facts = read()
    assert (facts.not_read, facts.drift, facts.missing) == ({}, (), ())
    assert facts.jobs is not None
    (found,) = facts.jobs
    assert (found.name, found.phase, found.pods) == (job, "Running", {"Running": 8})
    assert found.started
    held_by_job_and_neighbour(facts, project.namespace, job)
    edited_by_hand(live, "extras")
    (drift,) = read().drift or ()
    assert (drift.kind, drift.path, drift.applied, drift.live) == ("Queue", "spec.weight", 2, 5)
    assert (drift.manager, drift.written[:4].isdecimal()) == ("kubectl-edit", True)
    live.delete("jobs", job, project.namespace)
    until(lambda: live.find("jobs", job, project.namespace) is None, "the job to go")
    gone = read()
    assert (gone.jobs, gone.missing) == ((), (f"Job/{job}",))


def held_by_job_and_neighbour(facts: LiveFacts, namespace: str, job: str) -> None:
    assert facts.queues is not None
    (queue,) = facts.queues
    assert (queue.weight, queue.capability) == (2, {GPU: "8"})
    held = {name: amounts[GPU] for name, amounts in queue.holders.items()}
    assert held == {f"{namespace}/{job}": "4", f"{namespace}/{NEIGHBOUR}": "2"}
    assert facts.nodes
    total = sum(int(node.holders.get(f"{namespace}/{job}", {}).get(GPU, "0")) for node in facts.nodes)
    assert total == 4
    assert all(int(node.requested.get(GPU, "0")) <= int(node.allocatable.get(GPU, "0")) for node in facts.nodes)


def edited_by_hand(live: Live, queue: str) -> None:
    """Write the queue as `kubectl edit` does."""
    path = f"{live.path('queues', None, queue)}?fieldManager=kubectl-edit"
    response = live.request("PATCH", path, {"spec": {"weight": 5}}, "application/merge-patch+json")
    assert response.status_code == 200, response.text
    assert live.get("queues", queue)["spec"]["weight"] == 5
