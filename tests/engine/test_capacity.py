"""What a review says of room, against what Volcano's scheduler then does with the same pods on the same nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_reviews import SAMPLE
from tests.review.jobs import side
from tests.review.jobs_of_previews import context, job_review
from trainform.cluster.live import LiveReads
from trainform.review.capacity import capacity_of
from trainform.spec.layers import merge_patch

pytestmark = pytest.mark.proof("the scheduler's own answer; `make test` has the verdicts alone")

GPU = "baidu.com/a800_80g_cgpu"
KEEPS_OUT = {"taints": [{"key": "pool", "value": "night", "effect": "NoSchedule"}]}
OPEN: dict[str, Any] = {"unschedulable": None, "taints": None}
WAITS = 5.0  # seconds; the scheduler looks once in each
PATIENCE = 30.0


def nodes(spec: Mapping[str, Any]) -> Callable[[Live, str], None]:
    """Give all nodes but two this spec."""

    def prepare(live: Live, namespace: str) -> None:
        for name in sorted(live.names("nodes"))[2:]:
            live.merge(live.path("nodes", None, name), {"spec": spec})

    return prepare


def quota(live: Live, namespace: str) -> None:
    """Give the namespace a quota of two nodes, and wait until the API server holds it."""
    metadata, hard = {"name": "team", "namespace": namespace}, {f"requests.{GPU}": "16"}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}
    live.make(body)
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/team"
    until(lambda: live.request("GET", path).json().get("status", {}).get("used"), "the quota to be counted")


def nothing(live: Live, namespace: str) -> None:
    """Leave the cluster as it is."""


def pods(replicas: int, **spec: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"replicas": replicas, **({"pod_overrides": {"spec": spec}} if spec else {})}}}


TOLERATES = {"tolerations": [{"key": "pool", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("prepare", "patch", "verdict"),
    [
        (nothing, pods(9), "never"),
        (nodes({"unschedulable": True}), pods(3), "later"),
        (nodes({"unschedulable": True}), pods(2), "now"),
        (nodes(KEEPS_OUT), pods(3), "never"),
        (nodes(KEEPS_OUT), pods(3, **TOLERATES), "now"),
        (quota, pods(3), "never"),
        (quota, pods(2), "now"),
    ],
)
def test_the_scheduler_does_what_the_review_says(
    prepare: Callable[[Live, str], None],
    patch: Mapping[str, Any],
    verdict: str,
    project: Project,
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    project.environment(limits={"severity": {"TF-RES-6": "off"}})
    project.experiment("sdxl-lora", merge_patch(SAMPLE, {"storage": None, **patch}))
    made = project.rendered("sdxl-lora")
    live.wait_for_free_nodes()
    try:
        prepare(live, project.namespace)
        with LiveReads(None, project.namespace, PATIENCE) as reads:
            facts = reads.facts()
        assert facts.not_read == {}
        capacity = capacity_of(context(job_review(None, side(made)), environment=made.environment, live=facts))
        assert capacity.verdict == verdict, capacity.sentence
        for manifest in made.manifests:
            live.make(manifest.body)
        if verdict == "now":
            live.running_pods(project.namespace, made.plan.totals.pods)
        else:
            time.sleep(WAITS)
            assert not [pod for pod in live.find_all("pods", project.namespace) if pod["status"]["phase"] != "Pending"]
    finally:
        nodes(OPEN)(live, project.namespace)
        live.delete("jobs", made.plan.job, project.namespace)
        until(lambda: not live.find_all("pods", project.namespace), "the pods to be gone")
