"""Two jobs without admission, of which each holds one of two nodes and needs both: one ends, and the other trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.sandbox.conftest import until
from tests.support.samples import environment, experiment
from trainform.console.progress import SILENT
from trainform.job.render import RenderedJob, render_job
from trainform.local.rehearsal.real.objects import path_of
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.real.load import full_name
from trainform.local.sandbox.real.start import load_images

pytestmark = [
    pytest.mark.proof("two jobs that hold nodes for each other's pods, on real kubelets"),
    pytest.mark.needs("jobset"),
]

NAMESPACE = "halves"
CPUS = 5  # of the 8 of a node
NODES = "/api/v1/nodes"


def job_of_two(name: str, wait: str, image: str) -> RenderedJob:
    """Return a job of two pods, each of which needs a node for itself, also one with a taint named as the job."""
    made = experiment(
        name=name,
        backend="jobset",
        image=full_name(image),
        launcher={"command": ["python3", "-c", "print('trains')"]},
        roles={"worker": {"replicas": 2, "cpu": CPUS, "tolerations": [{"key": name, "operator": "Exists"}]}},
        network={"wait": wait},
        image_pull_policy="IfNotPresent",
        shared_memory="64Mi",
    )
    return render_job(made, environment(admission="none", queues={}, namespace={"name": NAMESPACE}, limits={}))


def test_the_job_whose_wait_is_over_first_names_the_missing_pod_and_frees_its_node(
    api: Api, folder: Path, image: str
) -> None:
    load_images({image: None}, folder, SILENT)
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    nodes = [node["metadata"]["name"] for node in api.get(NODES)["items"] if "real" in node["metadata"]["name"]]
    short, long = jobs = [job_of_two("short", "15s", image), job_of_two("long", "5m", image)]
    # each job gets one node
    for node, taint in zip(nodes, ("short", "long"), strict=True):
        api.merge(f"{NODES}/{node}", {"spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]}})
    for each in jobs:
        assert each.problems == ()
        for manifest in each.manifests:
            api.apply(path_of(manifest.body), manifest.body)
    try:
        until(lambda: len(_holding(api)) == len(nodes))
    finally:
        for node in nodes:
            api.merge(f"{NODES}/{node}", {"spec": {"taints": None}})
    holding = _holding(api)

    until(lambda: _has(api, short, "Failed"))
    [missing] = [pod for pod in short.plan.pods() if pod.name not in holding]
    [pod] = [holding[pod.name] for pod in short.plan.pods() if pod.name in holding]
    lines = [*api.lines(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/log?container=main")]
    assert lines[-2:] == [
        "trainform: 1 of 2 hosts did not answer within 15 s:",
        f"  {missing.address}: its name is not in DNS; its pod has no node, or has not started",
    ]
    until(lambda: _has(api, long, "Completed"))


def _holding(api: Api) -> dict[str, str]:
    """Return the pods that have a node, by their hostnames."""
    pods = api.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    return {pod["spec"]["hostname"]: pod["metadata"]["name"] for pod in pods if "nodeName" in pod["spec"]}


def _has(api: Api, job: RenderedJob, condition: str) -> bool:
    body = api.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{job.plan.job}")
    conditions = body.get("status", {}).get("conditions", [])
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)
