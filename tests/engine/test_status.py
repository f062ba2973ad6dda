"""`trainform status` of jobs on every operator, in each phase, and for an account that may read little.

The pods run on nodes of the test's own. No kubelet starts pods on the one that kwok does not manage.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.engine.conftest import own_project
from tests.engine.kubelet import fails, succeeds
from tests.engine.live import Live, until
from tests.engine.pods import hostname, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.engine.test_rights import RBAC, kubeconfig, post
from tests.running.jobs import node_lost
from tests.support.repository import ROOT
from tests.support.samples import fitting
from trainform.backends.backend import BACKENDS
from trainform.cluster.phases import Phase
from trainform.local.sandbox.components import SIMULATED_NODE
from trainform.manifests.manifest import job_body
from trainform.running.model import JobStatus
from trainform.running.read import read
from trainform.running.snapshot import Target
from trainform.running.status import status_of
from trainform.spec.load import load_environment

pytestmark = pytest.mark.proof("every phase of a job on every operator")

LABEL = "example.com/of-the-test"
SILENT, SIMULATED = "silent", "simulated"
SECONDS = 30.0  # for each answer
CRASHING = {"ready": False, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
RUNNING = {"ready": True, "restartCount": 1, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}


def training(backend: str, on: str = SIMULATED) -> dict[str, Any]:
    """Return an experiment of three pods for this node."""
    role = {"cpu": 1, "memory": "1Gi", "node_selector": {LABEL: on}}
    roles = fitting(backend, {"master": {"replicas": 1, **role}, "worker": {"replicas": 2, **role}})
    return {
        "image": "registry.example.com/ai/training:latest",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "backend": backend,
        "roles": roles,
        "restart": "never",
        "shared_memory": "64Mi",
    }


NAMES = {f"{end}-{backend}": backend for backend in BACKENDS for end in ("good", "bad")}
SLOW = [f"slow-{backend}" for backend in BACKENDS]


@dataclasses.dataclass(frozen=True)
class Jobs:
    """The jobs of all experiments, up in one stack."""

    live: Live
    project: Project

    def status(self, name: str) -> JobStatus:
        """The status of a job now."""
        environment = load_environment("dev", self.project.folder).or_raise()
        return status_of(read(Target(name, environment), SECONDS))

    def reach(self, phases: Mapping[str, Phase], seconds: float = 90.0) -> None:
        """Wait until each of these jobs is in its phase."""
        for name, phase in phases.items():
            until(lambda name=name, phase=phase: self.status(name).phase is phase, f"{name} to be {phase}", seconds)  # type: ignore[misc]

    def pods(self, name: str) -> list[dict[str, Any]]:
        """The pods of a job, once all run; in the order of their names."""
        found = pods_of(self.live, self.project.plan(name)).values()
        return sorted(found, key=hostname)

    def report(self, pod: dict[str, Any], changed: Mapping[str, Any]) -> None:
        """Return the kubelet's report of a pod's containers."""
        containers = [{**each, **changed} for each in pod["status"]["containerStatuses"]]
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self.live.report(name, namespace, {"containerStatuses": containers})

    def job(self, name: str) -> str:
        """The path of the job object."""
        body = job_body(self.project.rendered(name).manifests)
        plural = f"{body['kind'].lower()}s"
        return f"/apis/{body['apiVersion']}/namespaces/{self.project.namespace}/{plural}/{body['metadata']['name']}"


def node(live: Live, name: str) -> dict[str, Any]:
    """A node like those of the sandbox, which is not in one of its pools."""
    found = live.find_all("nodes")[0]
    annotations = {SIMULATED_NODE: "fake"} if name == SIMULATED else {}
    labels = {LABEL: name, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    addresses = [{"type": "InternalIP", "address": f"10.79.255.{len(name)}"}, {"type": "Hostname", "address": name}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {**found["status"], "addresses": addresses},
    }


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, addons_environ: dict[str, str], addons_live: Live) -> Iterator[Jobs]:
    """Yield all experiments, up, while no node takes their pods."""
    context = pytest.MonkeyPatch()
    context.setenv("KUBECONFIG", addons_environ["KUBECONFIG"])
    for project in own_project(tmp_path_factory.mktemp("status"), addons_environ, addons_live):
        for name, backend in NAMES.items():
            project.experiment(name, training(backend))
        for name, backend in zip(SLOW, BACKENDS, strict=True):
            project.experiment(name, training(backend, SILENT))
        project.up(stack_of(project, "status", [*NAMES, *SLOW]))
        yield Jobs(addons_live, project)
    addons_live.delete("nodes", SIMULATED)
    context.undo()


def every(phase: Phase, chosen: Callable[[str], bool] = lambda name: True) -> dict[str, Phase]:
    return dict.fromkeys(filter(chosen, NAMES), phase)


def test_a_job_from_its_queue_to_its_end(jobs: Jobs) -> None:
    """One test, since each phase follows from the one before."""
    live = jobs.live
    jobs.reach({**every(Phase.QUEUED), **dict.fromkeys(SLOW, Phase.QUEUED)})
    found = jobs.status("good-volcano")
    assert (found.placed, found.needed, found.queue, found.not_read) == (0, 3, "default", {})

    post(live, "/api/v1/nodes", node(live, SILENT))
    jobs.reach(dict.fromkeys(SLOW, Phase.STARTING))
    live.delete("nodes", SILENT)
    post(live, "/api/v1/nodes", node(live, SIMULATED))
    jobs.reach(every(Phase.RUNNING))
    for name, backend in NAMES.items():
        found = jobs.status(name)
        assert (found.backend, found.placed, found.needed, found.restarts) == (backend, 3, 3, 0), name
        assert {pod.node for pod in found.pods} == {SIMULATED}
        assert sorted(pod.rank for pod in found.pods if pod.rank is not None) == [0, 1, 2], name
        assert found.started

    first = {name: jobs.pods(name)[0] for name in NAMES}
    for pod in first.values():
        jobs.report(pod, CRASHING)
    jobs.reach(every(Phase.RESTARTING))
    assert {each.reason for each in jobs.status("good-jobset").pods} == {"CrashLoopBackOff", ""}
    for pod in first.values():
        jobs.report(pod, RUNNING)
    jobs.reach(every(Phase.RUNNING))

    for pod in first.values():  # as the node controller marks the pods of a node that no longer reports
        live.report(pod["metadata"]["name"], jobs.project.namespace, {"conditions": node_lost()})
    for name in NAMES:
        found = jobs.status(name)
        assert (found.phase, SIMULATED in found.message) == (Phase.UNKNOWN, True), name
    for pod in first.values():
        ready = [{**each, "status": "True"} for each in node_lost()]
        live.report(pod["metadata"]["name"], jobs.project.namespace, {"conditions": ready})

    suspends = [name for name in NAMES if BACKENDS[NAMES[name]].SUSPENDED]
    for wanted, phase in ((True, Phase.SUSPENDED), (False, Phase.RUNNING)):
        for name in suspends:
            (place,) = BACKENDS[NAMES[name]].SUSPENDED
            patch: Any = wanted
            for key in reversed(place.split(".")):
                patch = {key: patch}
            live.merge(jobs.job(name), patch)
        jobs.reach(dict.fromkeys(suspends, phase))

    for name in NAMES:
        ends = succeeds if name.startswith("good") else fails
        for pod in jobs.pods(name):
            ends(live, pod)
    jobs.reach(every(Phase.SUCCEEDED, lambda name: name.startswith("good")))
    jobs.reach(every(Phase.FAILED, lambda name: name.startswith("bad")))
    assert {bool(jobs.status(name).ended) for name in NAMES} == {True}


def test_a_job_that_is_deleted_while_its_pods_end(jobs: Jobs) -> None:
    project, live = jobs.project, jobs.live
    project.experiment("deleted", training("volcano"))
    stack = stack_of(project, "deleted", ["deleted"])
    project.up(stack)
    pods = pods_of(live, project.plan("deleted")).values()
    held = [live.path("pods", project.namespace, pod["metadata"]["name"]) for pod in pods]
    for path in held:
        live.merge(path, {"metadata": {"finalizers": ["example.com/held"]}})
    live.delete("jobs", project.plan("deleted").job, project.namespace)
    jobs.reach({"deleted": Phase.ENDING})
    for path in held:
        live.merge(path, {"metadata": {"finalizers": None}})
    jobs.reach({"deleted": Phase.GONE})
    assert "is not in the cluster" in jobs.status("deleted").message


def test_an_account_that_may_view_the_namespace(jobs: Jobs) -> None:
    """Kubernetes' own role `view` has pods and records, and no kind of an operator."""
    project, live = jobs.project, jobs.live
    project.experiment("viewed", training("volcano"))
    shutil.copy(ROOT / "stacks" / "__main__.py", project.folder / "stacks")
    stack = project.stack("viewed")
    assert f"trainform status {stack}" in project.up(stack), "`up` names the next command"
    pods_of(live, project.plan("viewed"))
    accounts = f"/api/v1/namespaces/{project.namespace}/serviceaccounts"
    post(live, accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": project.namespace}],
    }
    post(live, f"{RBAC}/namespaces/{project.namespace}/rolebindings", binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    config = kubeconfig(project, post(live, f"{accounts}/viewer/token", request)["status"]["token"], "viewer")
    words = ("status", "viewed", "-e", "dev")
    found = json.loads(project.trainform(*words, "--output", "json", KUBECONFIG=config).succeeded())
    assert (found["phase"], len(found["pods"]), found["accelerators"]) == ("running", 3, {})
    assert found["not_read"].keys() == {"job", "gang"}
    assert "no permission to list podgroups" in project.trainform(*words, KUBECONFIG=config).succeeded()
    stacks = project.trainform("stacks", "-e", "dev", "--experiment", "viewed", KUBECONFIG=config)
    assert (stacks.code, " running " in stacks.output) == (1, True), stacks.output
    assert "no permission to list jobs" in stacks.output
    for pod in pods_of(live, project.plan("viewed")).values():
        fails(live, pod)
    jobs.reach({"viewed": Phase.FAILED})
    ran = project.trainform("wait", "viewed", "-e", "dev", "--timeout", "60s", KUBECONFIG=config)
    assert (ran.code, " unknown: " in ran.output, "no permission to read the job" in ran.output) == (1, True, True)
