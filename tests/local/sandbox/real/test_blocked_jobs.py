"""Two jobs without admission, of which each holds one of two nodes and needs both: neither may hold it for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def job_on(node: str, name: str, image: str) -> RenderedJob:
    """Return a job whose first pod runs on the node, and whose second one needs another node."""
    place = {"node_selector": {"kubernetes.io/hostname": node}, "tolerations": [{"key": name, "operator": "Exists"}]}
    made = experiment(
        name=name,
        backend="jobset",
        image=full_name(image),
        launcher={"command": ["python3", "-c", "print('trains')"]},
        roles={"first": {"replicas": 1, "cpu": CPUS, **place}, "second": {"replicas": 1, "cpu": CPUS}},
        network={"wait": "15s"},
        image_pull_policy="IfNotPresent",
        shared_memory="64Mi",
    )
    return render_job(made, environment(admission="none", queues={}, namespace={"name": NAMESPACE}, limits={}))


def test_both_jobs_end_and_name_the_pod_that_is_missing(api: Api, folder: Path, image: str) -> None:
    load_images({image: None}, folder, SILENT)
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    nodes = [node["metadata"]["name"] for node in api.get(NODES)["items"] if "real" in node["metadata"]["name"]]
    jobs = [job_on(node, name, image) for node, name in zip(nodes, ("early", "late"), strict=True)]
    # until its pod is there, nothing else gets the second node
    api.merge(f"{NODES}/{nodes[1]}", {"spec": {"taints": [{"key": "late", "effect": "NoSchedule"}]}})
    for job in jobs:
        assert job.problems == ()
        for manifest in job.manifests:
            api.apply(path_of(manifest.body), manifest.body)
    until(lambda: sorted(on_nodes(api)) == nodes)
    api.merge(f"{NODES}/{nodes[1]}", {"spec": {"taints": None}})

    until(lambda: all(_failed(api, job) for job in jobs), seconds=180)
    for job in jobs:
        # which of its two pods had the node is chance; the other one may have got it afterwards
        pods = {each["spec"]["hostname"]: each for each in _pods(api) if each["status"]["phase"] == "Failed"}
        [missing] = [pod for pod in job.plan.pods() if pod.name not in pods]
        [pod] = [pods[pod.name] for pod in job.plan.pods() if pod.name in pods]
        lines = [*api.lines(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/log?container=main")]
        assert lines[-2:] == [
            "trainform: 1 of 2 hosts did not answer within 15 s:",
            f"  {missing.address}: its name is not in DNS; its pod has no node, or has not started",
        ]


def _pods(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    return found


def on_nodes(api: Api) -> list[str]:
    """Return the nodes that have pods, each as often as it has."""
    return [pod["spec"]["nodeName"] for pod in _pods(api) if "nodeName" in pod["spec"]]


def _failed(api: Api, job: RenderedJob) -> bool:
    body = api.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{job.plan.job}")
    conditions = body.get("status", {}).get("conditions", [])
    return any(each["type"] == "Failed" and each["status"] == "True" for each in conditions)
