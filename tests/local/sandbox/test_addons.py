"""Every add-on's real controller works with real objects."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.local.sandbox.conftest import api_of, state_of, until
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.components import COMPONENTS
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.status import status

pytestmark = pytest.mark.proof("every add-on of the sandbox")

_numbers = itertools.count(1)
Manifest = dict[str, Any]
CONTAINER = {"name": "pytorch", "image": "registry.example.com/ai/pytorch:2.3", "resources": {"limits": {"cpu": "4"}}}
POD = {"spec": {"containers": [CONTAINER]}}


class Namespace:
    """A namespace, with short methods for the requests of the tests."""

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.name = name

    def path(self, group: str, plural: str, name: str = "") -> str:
        base = f"/{'api/v1' if group == 'v1' else f'apis/{group}'}/namespaces/{self.name}/{plural}"
        return f"{base}/{name}" if name else base

    def create(self, group: str, plural: str, manifest: Manifest) -> Manifest:
        return self.api.create(self.path(group, plural), {"apiVersion": group, **manifest})

    def get(self, group: str, plural: str, name: str) -> Manifest:
        return self.api.get(self.path(group, plural, name))

    def pods(self, label: str, name: str) -> list[Manifest]:
        found: list[Manifest] = self.api.get(f"{self.path('v1', 'pods')}?labelSelector={label}={name}")["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def running(self, label: str, name: str, count: int) -> list[Manifest]:
        until(lambda: [pod["status"].get("phase") for pod in self.pods(label, name)] == ["Running"] * count, 60)
        return self.pods(label, name)


@pytest.fixture(scope="module")
def cluster(addons: Sandbox) -> Iterator[Api]:
    """Return a client of the sandbox with all add-ons."""
    with api_of(addons.folder) as api:
        yield api


@pytest.fixture
def namespace(cluster: Api) -> Iterator[Namespace]:
    """Create a namespace for one test."""
    name = f"a-{next(_numbers)}"
    cluster.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    namespace = Namespace(cluster, name)
    until(
        lambda: (
            "default"
            in [item["metadata"]["name"] for item in cluster.get(namespace.path("v1", "serviceaccounts"))["items"]]
        )
    )
    yield namespace
    cluster.delete(f"/api/v1/namespaces/{name}")


def test_status_shows_the_add_ons_and_all_run(addons: Sandbox) -> None:
    found = status(addons.folder)
    assert found.running
    assert found.addons == tuple(ADDONS)
    rows = [*COMPONENTS, *(addon.component for addon in ADDONS.values())]
    assert [row.name for row in found.components] == [row.name for row in rows]
    assert json.loads(json.dumps(found.as_dict()))["addons"] == list(ADDONS)


def test_add_ons_listen_on_loopback_only(addons: Sandbox) -> None:
    names = {addon.component.name for addon in ADDONS.values()}
    for process in state_of(addons.folder).processes:
        if process.name in names:
            connections = psutil.Process(process.pid).net_connections("inet")
            assert {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN} == {"127.0.0.1"}, process.name


def test_every_webhook_that_the_table_serves_is_registered_and_none_is_left_out(cluster: Api) -> None:
    for addon in ADDONS.values():
        if addon.webhooks is None:
            continue
        found: set[str] = set()
        for kind, name in addon.webhooks.names.items():
            made = cluster.get(f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/{name}")
            found |= {resource for hook in made["webhooks"] for rule in hook["rules"] for resource in rule["resources"]}
            hooks = {hook["name"]: hook for hook in made["webhooks"]}
            for hook, selector in addon.webhooks.selectors.items():
                assert hook not in hooks or hooks[hook]["objectSelector"] == selector
        assert found == addon.webhooks.resources, addon.name


def _jobset(name: str, pods: int, **fields: object) -> Manifest:
    job = {"parallelism": pods, "completions": pods, "template": POD}
    jobs = [{"name": "worker", "template": {"spec": job}, **fields}]
    return {"kind": "JobSet", "metadata": {"name": name}, "spec": {"replicatedJobs": jobs}}


def test_pods_of_a_jobset_that_name_no_scheduler_are_placed(namespace: Namespace) -> None:
    made = namespace.create("jobset.x-k8s.io/v1alpha2", "jobsets", _jobset("sweep", 2))
    assert made["spec"]["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    pods = namespace.running("jobset.sigs.k8s.io/jobset-name", "sweep", 2)
    assert [pod["spec"]["hostname"] for pod in pods] == ["sweep-worker-0-0", "sweep-worker-0-1"]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"default-scheduler"}


@pytest.mark.parametrize(
    ("group", "plural", "manifest", "reason"),
    [
        (
            "kubeflow.org/v1",
            "pytorchjobs",
            {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 2, "template": POD}}}},
            "must be 1",
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "jobsets",
            _jobset("refused", 1, dependsOn=[{"name": "setup", "status": "Complete"}]),
            "cannot depend on replicatedJob: setup",
        ),
        (
            "trainer.kubeflow.org/v1alpha1",
            "trainjobs",
            {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "nowhere", "kind": "TrainingRuntime"}}},
            "nowhere",
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "jobsets",
            {**_jobset("refused", 1), "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "Not_A_Queue"}}},
            'admission webhook "vjobset.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]',
        ),
    ],
)
def test_admission_denies_what_the_projects_deny(
    namespace: Namespace, group: str, plural: str, manifest: Manifest, reason: str
) -> None:
    with pytest.raises(RequestError) as caught:
        namespace.create(group, plural, {**manifest, "metadata": {**manifest.get("metadata", {}), "name": "refused"}})
    assert reason in str(caught.value)


def test_toolchain_ensure_with_built_add_ons_builds_nothing(addons: Sandbox) -> None:
    """The fixture `addons` has built them all."""
    words = [sys.executable, "-m", "trainform", "toolchain", "ensure", "--with", "trainer,kubedl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("pulumi: ")
