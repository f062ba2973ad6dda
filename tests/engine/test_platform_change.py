"""A pull request of the platform team: one edit of an environment that 8 stacks use."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.support.repository import commit_all, git, read

pytestmark = pytest.mark.proof("a change of the platform, which touches 8 stacks")

IMAGE = "ai/pytorch-training:2.4@sha256:4f7c9d1e2b3a5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
REGISTRY, OTHER, MIRROR = "registry.example.com", "quay.example.com", "mirror.example.com"
JOB = "volcano.sh/job-name"
RUNNING = ("bert", "resnet")
BIG, ELSEWHERE = "llama", "mnist"
PLANNED = (BIG, "clip", "gpt", "moe", "sam")
TOUCHED = sorted(["dev", *(f"{name}.dev" for name in (*RUNNING, *PLANNED))])


def environment(project: Project, nodes: int, amount: int, **parts: Any) -> None:
    """Write `dev`: 16 accelerators on two nodes, at this price."""
    kinds = read("environments", "dev")["accelerators"]
    price = {**kinds["a800"]["price_per_hour"], "amount": amount, "as_of": datetime.datetime.now(datetime.UTC).date()}
    project.environment(accelerators={"a800": {**kinds["a800"], "nodes": nodes, "price_per_hour": price}}, **parts)


def experiment(project: Project, name: str, registry: str = REGISTRY, replicas: int = 1) -> None:
    project.experiment(
        name,
        {
            "image": f"{registry}/{IMAGE}",
            "launcher": {"torchrun": {"script": "/app/train.py"}},
            "roles": {"worker": {"replicas": replicas, "accelerators": {"a800": 8}}},
            "queue": "research",
        },
    )
    project.stack(name)


def queue(most: int) -> dict[str, Any]:
    return {"research": {"weight": 2, "capability": {"a800": most}}}


def test_a_change_of_the_platform_that_touches_8_stacks(project: Project, live: Live) -> None:
    """The mirror of a registry, a price, the size of a queue and a limit change in one commit."""
    (project.folder / ".gitignore").write_text("state/\n__pycache__\nreview.*\n")
    limits = {"max_accelerators": 32, "registries": [REGISTRY, OTHER, MIRROR]}
    environment(project, 4, 2, queues=queue(32), limits=limits)
    project.stack()
    for name in (*RUNNING, *PLANNED, ELSEWHERE):
        experiment(project, name, OTHER if name == ELSEWHERE else REGISTRY, 3 if name == BIG else 1)
    for stack in ("dev", *(f"{name}.dev" for name in RUNNING)):
        project.up(stack)
    live.running_pods(project.namespace, 2)
    commit_all(project.folder)
    git(project.folder, "switch", "--quiet", "--create", "mirror")

    limits = {**limits, "max_accelerators": 16}
    environment(project, 4, 3, queues=queue(16), limits=limits, registries={REGISTRY: MIRROR})
    commit_all(project.folder)
    found = project.review("--changed-since", "main")
    review = json.loads(found.forms["json"])
    reports = {report["stack"]: report for report in review["stacks"]}
    assert sorted(review["selection"]["touched"]) == TOUCHED
    assert review["selection"]["unaffected"] == [f"{ELSEWHERE}.dev"]
    assert (found.code, "Review of 8 stacks" in found.forms["shown"]) == (1, True), found.forms["shown"]

    failed = {stack: report["headline"] for stack, report in reports.items() if report["outcome"] == "failed"}
    assert [*failed] == [f"{BIG}.dev"]
    assert "the pods ask for 24 accelerators together; the environment allows 16" in failed[f"{BIG}.dev"]
    codes = {stack: {finding["code"] for finding in report["findings"]} for stack, report in reports.items()}
    assert codes["dev"] == {"TR-ENVIRONMENT-3", "TR-RESTART-6", "TR-NEIGHBOURS-1"}
    for stack in (f"{name}.dev" for name in RUNNING):
        assert "because `environment.registries` changes" in reports[stack]["headline"]
        titles = [finding["title"] for finding in reports[stack]["findings"]]
        assert [each for each in titles if f"comes from {MIRROR}, and came from {REGISTRY}" in each] != [], titles
        assert codes[stack] >= {"TR-RESTART-1", "TR-SECURITY-8"}
    # in the order of the review, new stacks wait before resnet is replaced, and take its room
    verdicts = [reports[f"{name}.dev"]["capacity"]["verdict"] for name in RUNNING]
    assert (verdicts, "TR-CAPACITY-2" in codes["resnet.dev"]) == (["now", "later"], True)
    for name in PLANNED[1:]:
        report = reports[f"{name}.dev"]
        assert (codes[f"{name}.dev"], report["capacity"]["verdict"]) == ({"TR-CAPACITY-2", "TR-COST-1"}, "later")

    experiment(project, BIG, replicas=2)
    alone = project.review(f"{BIG}.dev")
    verdict = alone.report["capacity"]["verdict"]
    assert (alone.code, verdict) == (0, "now"), "the deployed queue has room, and dev is not in this review"
    for stack in ("dev", *(f"{name}.dev" for name in RUNNING), "clip.dev"):
        project.up(stack)
    pods = live.running_pods(project.namespace, 2)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {f"{MIRROR}/{IMAGE}"}
    jobs = [project.plan(name).job for name in RUNNING]
    assert sorted(pod["metadata"]["labels"][JOB] for pod in pods) == sorted(jobs), "clip waits"
    named = ["resnet.dev", "bert.dev", "dev"]
    after = json.loads(project.review(*named).forms["json"])
    assert [report["stack"] for report in after["stacks"]] == named
    assert {report["headline"] for report in after["stacks"]} == {"Nothing changes."}
    hourly = [Decimal(report["cost"]["after"]["amount"]) for report in after["stacks"] if report["cost"]["after"]]
    assert (len(hourly), sum(hourly)) == (2, Decimal(after["cost"]["after"]["amount"]))
