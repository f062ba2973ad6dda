"""First preview, up, no change, destroy: the whole life of a job."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import Project


def without_shared_claim(data: dict[str, Any]) -> None:
    """sdxl-lora mounts a claim of the environment's stack, which these tests do not bring up."""
    del data["storage"]["models"]


def test_the_reference_job_starts_as_a_gang_on_four_nodes(project: Project, live: Live) -> None:
    project.copied("sdxl-lora", without_shared_claim)
    stack = project.stack("sdxl-lora")
    project.up(stack)
    pods = live.running_pods(project.namespace, 4)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 4
    group = live.find_all("podgroups", project.namespace)[0]
    assert group["spec"]["minMember"] == 4
    job = live.only_job(project.namespace)["metadata"]["name"]
    assert {pod["metadata"]["name"] for pod in pods} == {
        f"{job}-{name}" for name in ("master-0", "worker-0", "worker-1", "worker-2")
    }
    assert {pod["spec"]["hostname"] for pod in pods} == {pod["metadata"]["name"] for pod in pods}
    assert {pod["spec"]["subdomain"] for pod in pods} == {"sdxl-lora"}
    project.unchanged(stack)


def test_the_pods_see_what_the_plan_said(project: Project, live: Live) -> None:
    project.copied("extras")
    project.up(project.stack("extras"))
    pods = live.running_pods(project.namespace, 8)
    seen = {}
    for pod in pods:
        labels, environment = pod["metadata"]["labels"], pod["spec"]["containers"][0]["env"]
        values = {entry["name"]: entry.get("value") for entry in environment}
        seen[labels["app.kubernetes.io/component"], labels["volcano.sh/task-index"]] = values
    assert {key[0]: values.get("WORLD_SIZE") for key, values in seen.items()} == {
        "master": "4",
        "worker": "4",
        "extra": None,
    }
    assert all(
        "RANK" not in values and "TRAINFORM_RANK_OFFSET" not in values
        for (role, _), values in seen.items()
        if role == "extra"
    )
    assert {int(seen[key]["TRAINFORM_RANK_OFFSET"]) + int(key[1]) for key in seen if key[0] != "extra"} == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["extras", "hello", "elastic", "resnet"])
def test_first_preview_up_and_a_second_preview_without_change(project: Project, live: Live, name: str) -> None:
    project.copied(name)
    stack = project.stack(name)
    project.pulumi("preview", "-s", stack).succeeded()
    project.up(stack)
    project.unchanged(stack)
    project.destroy(stack)
    assert live.find_all("jobs", project.namespace) == []
    assert live.names("services", project.namespace) == set()
    assert live.find("queues", name) is None
    kept = {"resnet": {"resnet-checkpoints"}}
    assert live.names("persistentvolumeclaims", project.namespace) == kept.get(name, set())


def test_a_second_run_is_a_new_revision(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    first = live.only_job(project.namespace)["metadata"]["name"]
    project.stack("hello", run=2)
    project.up(stack)
    assert live.only_job(project.namespace)["metadata"]["name"] != first


def test_a_stack_may_name_files_by_path_from_the_project(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    config = project.folder / "stacks" / f"Pulumi.{stack}.yaml"
    config.write_text(config.read_text().replace("experiment: hello", "experiment: stacks/experiments/hello.yaml"))
    project.up(stack)
    live.running_pods(project.namespace, 2)


@pytest.mark.parametrize("name", ["extras", "elastic"])
def test_render_prints_exactly_what_up_applies(project: Project, name: str) -> None:
    project.copied(name)
    stack = project.stack(name)
    printed = project.run(sys.executable, "-m", "trainform", "render", name, "-e", "dev").succeeded()
    rendered = {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(printed)}
    project.up(stack)
    state = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())
    applied = [
        {key: value for key, value in resource["inputs"].items() if not key.startswith("__")}
        for resource in state["deployment"]["resources"]
        if resource["type"].startswith("kubernetes:")
    ]
    for body in applied:
        # the provider fills in a namespace for kinds that have none
        if body["kind"] in ("Queue", "Namespace"):
            body["metadata"].pop("namespace", None)
    assert {(body["kind"], body["metadata"]["name"]): body for body in applied} == rendered
