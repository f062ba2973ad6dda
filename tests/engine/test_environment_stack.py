"""The environment's own stack: namespace, queues, shared claims, priority classes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.support.repository import read
from trainform.backends.admission import API_VERSION as QUEUE_API

pytestmark = pytest.mark.proof("further cases of the environment's stack")

OWN: dict[str, dict[str, Any]] = {
    "queues": {"default": {"weight": 3}, "team-vision": {"weight": 4, "capability": {"a800": 32}}},
    "priority_classes": {"deadline": {"value": 1000, "description": "Only for paper deadlines."}},
    "claims": {"datasets": {"size": "1Ti", "class": "fast", "keep": True}, "scratch": {"size": "100Gi"}},
}


@pytest.mark.shows("the environment's own stack")
def test_up_makes_everything_and_a_changed_queue_alone_changes(project: Project, live: Live) -> None:
    namespace = f"{project.namespace}-platform"
    project.environment(**OWN, namespace={"name": namespace, "create": True})
    stack = project.stack()
    preview = project.pulumi("preview", "-s", stack).succeeded()
    assert "8 to create" in preview or "9 to create" in preview
    project.up(stack)

    assert live.get("queues", "team-vision")["status"]["state"] == "Open"
    assert live.get("queues", "team-vision")["spec"]["capability"] == {"baidu.com/a800_80g_cgpu": "32"}
    assert live.get("queues", "default")["spec"]["weight"] == 3
    assert live.get("priorityclasses", "deadline")["value"] == 1000
    assert live.names("persistentvolumeclaims", namespace) == {"datasets", "scratch"}

    project.environment(
        **{**OWN, "queues": {**OWN["queues"], "team-vision": {"weight": 5, "capability": {"a800": 16}}}},
        namespace={"name": namespace, "create": True},
    )
    (step,) = project.applied(stack)
    assert (step.op, step.kind) == ("update", "Queue")
    assert set(step.paths) == {"spec.weight", 'spec.capability["baidu.com/a800_80g_cgpu"]'}
    assert live.get("queues", "team-vision")["spec"]["weight"] == 5


@pytest.mark.shows("destroying an environment deletes no job and no data of others")
def test_destroy_keeps_the_namespace_with_everything_in_it_and_the_next_up_adopts_it(
    project: Project, live: Live
) -> None:
    namespace = f"{project.namespace}-kept"
    project.environment(**OWN, namespace={"name": namespace, "create": True})
    stack = project.stack()
    project.up(stack)
    project.copied("resnet", lambda data: data.update(queue="team-vision"))
    experiment = project.stack("resnet")
    project.up(experiment)
    live.create("configmaps", {"metadata": {"name": "notes"}, "data": {"of": "a colleague"}}, namespace)
    job = live.only_job(namespace)["metadata"]["name"]
    living = (
        ("namespaces", namespace, None),
        ("jobs", job, namespace),
        ("persistentvolumeclaims", "resnet-checkpoints", namespace),
        ("persistentvolumeclaims", "datasets", namespace),
        ("configmaps", "notes", namespace),
    )
    before = [live.get(*each)["metadata"]["uid"] for each in living]

    output = project.trainform("destroy", stack, "--", "--yes", "--skip-preview").succeeded()
    assert f"the namespace {namespace} stays in the cluster" in output
    assert f"kubectl delete namespace {namespace} --context" in output
    assert [live.get(*each)["metadata"]["uid"] for each in living] == before
    assert live.find("queues", "team-vision") is None
    assert live.find("persistentvolumeclaims", "scratch", namespace) is None

    project.up(stack)
    assert [live.get(*each)["metadata"]["uid"] for each in living] == before
    project.destroy(stack)
    assert live.find("namespaces", namespace) is not None
    live.delete("namespaces", namespace)


def test_a_review_compares_the_settings_that_the_last_up_has_recorded(project: Project, live: Live) -> None:
    kinds = read("environments", "dev")["accelerators"]
    price = {"amount": 2, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}

    def write(cost: float, nodes: int, **parts: Any) -> None:
        kind = {**kinds["a800"], "nodes": nodes, "price_per_hour": {**price, "amount": cost}}
        project.environment(**{"accelerators": {**kinds, "a800": kind}, **parts})

    write(2, 4, limits={"max_accelerators": 32})
    stack = project.stack()
    project.up(stack)
    project.copied("hello", lambda data: data.update(roles={"worker": {"replicas": 2, "accelerators": {"a800": 8}}}))
    experiment = project.stack("hello")
    project.up(experiment)
    live.running_pods(project.namespace, 2)
    wide = {"worker": {"replicas": 3, "accelerators": {"a800": 8}}}
    project.copied("hello", lambda data: data.update(roles=wide), called="idle")
    project.stack("idle")  # never deployed, so that no finding counts it
    write(2, 4, limits={"max_accelerators": 32}, promotion={"soak": "24h"})
    assert project.applied(stack) == [], "settings are no objects"

    write(3, 1, limits={})
    (component,) = (step for step in project.preview(stack) if step.op == "update")
    assert (component.kind, component.in_cluster) == ("Platform", False)
    report = project.review(stack).report
    assert "`limits.max_accelerators`" in report["headline"], report["headline"]
    titles = [finding["title"] for finding in report["findings"]]
    assert [finding["level"] for finding in report["findings"]] == ["high", "high", "high", "medium"], titles
    for title in (
        "The limit `limits.max_accelerators` is loosened: 32 → not set.",
        " no longer takes releases only, so its stacks may follow any file; loosened: `promotion.soak`.",
        f"1 stack no longer passes: {experiment} (TF-RES-6): ",
        f"Other prices: +16.00 USD/h for {experiment}: 32.00 USD/h → 48.00 USD/h.",
    ):
        assert [each for each in titles if title in each] != [], titles
    assert [fact["number"] for fact in report["facts"] if fact["key"] == "cost"] == ["+16.00 USD/h"]
    job = live.only_job(project.namespace)["metadata"]["uid"]
    assert project.applied(stack) == []
    assert live.only_job(project.namespace)["metadata"]["uid"] == job
    assert "TF-RES-6" in project.pulumi("preview", "-s", experiment).failed()
    unchanged = project.review(stack)
    assert (unchanged.report["headline"], unchanged.code) == ("Nothing changes.", 0)

    write(3, 1, limits={}, namespace={"name": f"{project.namespace}-new", "create": True})
    report = project.review(stack).report
    assert [part for part in report["not_checked"] if part["what"] == "what is deployed"] == []
    (finding,) = (each for each in report["findings"] if each["code"] == "TR-ENVIRONMENT-4")
    assert finding["title"].endswith(f"deployed in {project.namespace}: {experiment}.")


def test_a_namespace_of_somebody_else_is_refused_and_destroy_leaves_the_shared_queue_and_kept_claims(
    project: Project, live: Live
) -> None:
    project.environment(**OWN, namespace={"name": project.namespace, "create": True})
    stack = project.stack()
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"Namespace {project.namespace} exists already and does not belong to this environment" in output
    assert "write `create: false` to use it as it is" in output

    project.environment(**OWN)
    project.up(stack)
    project.destroy(stack)
    assert live.get("queues", "default")["status"]["state"] == "Open"
    assert live.find("queues", "team-vision") is None
    assert live.find("priorityclasses", "deadline") is None
    assert live.names("persistentvolumeclaims", project.namespace) == {"datasets"}


def test_a_queue_of_somebody_else_is_refused_and_with_create_false_left_as_it_is(project: Project, live: Live) -> None:
    theirs = f"{project.namespace}-theirs"
    body = {"apiVersion": QUEUE_API, "kind": "Queue", "metadata": {"name": theirs}, "spec": {"weight": 7}}
    assert live.request("POST", live.path("queues"), body).status_code == 201
    project.environment(queues={theirs: {"weight": 2}})
    stack = project.stack()
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"Queue {theirs} exists already and does not belong to this environment" in output
    assert "write `create: false` in the environment's `queues`" in output

    project.environment(queues={theirs: {"create": False}})
    project.up(stack)
    project.copied("hello", lambda data: data.update(queue=theirs))
    project.pulumi("preview", "-s", project.stack("hello")).succeeded()
    project.destroy(stack)
    found = live.get("queues", theirs)
    assert found["spec"]["weight"] == 7
    assert "app.kubernetes.io/managed-by" not in found["metadata"].get("labels", {})
    live.request("DELETE", live.path("queues", name=theirs))
