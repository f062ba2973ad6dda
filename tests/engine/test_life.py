"""First preview, up, no change, destroy: the whole life of jobs, all in one stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
import yaml

from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from trainform import defaults

pytestmark = pytest.mark.shows("preview, up, no change, destroy")


def beside_others(data: dict[str, Any]) -> None:
    """sdxl-lora mounts a claim of the environment's stack, which these tests do not bring up, and wants four whole
    nodes, while the others have pods on them."""
    del data["storage"]["models"]
    for role in data["roles"].values():
        role["accelerators"] = {"a800": 4}


EXPERIMENTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "sdxl-lora": beside_others,
    "extras": lambda data: None,
    "elastic": lambda data: None,
    "hello": lambda data: None,
    "mnist": lambda data: data["network"].update(addresses="service"),
}


def starts_as_a_gang_on_four_nodes(project: Project, live: Live) -> None:
    plan = project.plan("sdxl-lora")
    pods = pods_of(live, plan).values()
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 4
    groups = live.find_all("podgroups", project.namespace)
    (group,) = (group for group in groups if group["metadata"]["name"].startswith(f"{plan.job}-"))
    assert group["spec"]["minMember"] == 4
    assert {pod["metadata"]["name"] for pod in pods} == {
        f"{plan.job}-{name}" for name in ("master-0", "worker-0", "worker-1", "worker-2")
    }
    assert {pod["spec"]["hostname"] for pod in pods} == {pod["metadata"]["name"] for pod in pods}
    assert {pod["spec"]["subdomain"] for pod in pods} == {"sdxl-lora"}


def pods_see_what_the_plan_said(project: Project, live: Live) -> None:
    seen = {}
    for pod in pods_of(live, project.plan("extras")).values():
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


def render_prints_exactly_what_up_applied(project: Project, name: str, stack: str, *words: str) -> None:
    """All but what only the program of the stack writes into the record of what is deployed."""
    printed = project.trainform("render", *words).succeeded()
    resources = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())["deployment"]["resources"]
    rendered = {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(printed)}
    applied = [
        {key: value for key, value in resource["inputs"].items() if not key.startswith("__")}
        for resource in resources
        if resource["type"].startswith("kubernetes:") and resource["urn"].rpartition("::")[2].startswith(f"{name}-")
    ]
    for body in applied:
        # the provider fills in a namespace for kinds that have none
        if body["kind"] in ("Queue", "Namespace"):
            body["metadata"].pop("namespace", None)
        if body["metadata"]["name"] == f"{name}-deployed":
            assert body["data"].pop("version") == version("trainform")
            assert body["metadata"]["annotations"].pop(defaults.STACK_ANNOTATION).endswith(f"/{stack}")
    assert {(body["kind"], body["metadata"]["name"]): body for body in applied} == rendered


def test_first_preview_up_as_rendered_a_second_preview_without_change_and_destroy(project: Project, live: Live) -> None:
    for name, edit in EXPERIMENTS.items():
        project.copied(name, edit)
    stack = stack_of(project, "life", list(EXPERIMENTS))
    project.pulumi("preview", "-s", stack).succeeded()
    project.up(stack)
    starts_as_a_gang_on_four_nodes(project, live)
    pods_see_what_the_plan_said(project, live)
    for name in ("extras", "elastic"):
        render_prints_exactly_what_up_applied(project, name, stack, name, "-e", "dev")
    project.unchanged(stack)
    project.destroy(stack)
    assert live.find_all("jobs", project.namespace) == []
    until(lambda: live.names("services", project.namespace) == set(), "what the jobs owned to go")
    assert live.find("queues", "extras") is None
    assert live.names("persistentvolumeclaims", project.namespace) == {"sdxl-lora-checkpoints"}


def test_a_stack_may_name_files_by_path_and_a_second_run_is_a_new_revision(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    config = project.folder / "stacks" / f"Pulumi.{stack}.yaml"
    config.write_text(config.read_text().replace("experiment: hello", "experiment: stacks/experiments/hello.yaml"))
    project.up(stack)
    live.running_pods(project.namespace, 2)
    render_prints_exactly_what_up_applied(project, "hello", stack, stack)
    first = live.only_job(project.namespace)["metadata"]["name"]
    project.stack("hello", run=2)
    project.up(stack)
    render_prints_exactly_what_up_applied(project, "hello", stack, stack)
    assert live.only_job(project.namespace)["metadata"]["name"] != first
