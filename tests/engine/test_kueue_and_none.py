"""Jobs of an environment whose jobs Volcano does not admit, on operators that make no gangs: without any admission, and
with Kueue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.engine.conftest import live_of, own_namespace, own_project
from tests.engine.kueue import API_VERSION, KUEUE, held_queue, local_queue, stop
from tests.engine.live import Live, until
from tests.engine.pods import as_planned, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import RECORD, Project
from tests.engine.test_lives import as_planned_on
from tests.engine.test_updates_of_operators import sweep, write
from tests.support.repository import ROOT
from tests.support.sandboxes import NODES
from trainform import defaults
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.toolchain.ensure import environment
from trainform.local.toolchain.tools import Toolchain
from trainform.spec.load import load_environment

pytestmark = pytest.mark.proof("operators without gangs need a control plane of their own")

OPERATORS = ("kueue", "kubeflow", "jobset", "trainer", "kubedl")
TENSORFLOW: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}}}
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["/app/train"]}}}
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kueue-mutating-webhook-configuration"


@pytest.fixture(scope="module")
def without_gangs(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Sandbox]:
    """Yield a sandbox of the environment `dev` without admission, with the other operators."""
    folder = tmp_path_factory.mktemp("sandbox") / "without-gangs"
    offered = load_environment("dev", ROOT).or_raise().model_copy(update={"admission": "none", "queues": {}})
    settings = settings_from_environment(offered, folder)
    pools = tuple(structs.replace(pool, count=NODES) for pool in settings.pools)
    yield up(structs.replace(settings, pools=pools, addons=OPERATORS), toolchain)
    down(folder)


@pytest.fixture(scope="module")
def cluster(without_gangs: Sandbox) -> Iterator[Live]:
    live = live_of(without_gangs)
    yield live
    live.close()


@pytest.fixture
def own(tmp_path: Path, without_gangs: Sandbox, cluster: Live, toolchain: Toolchain) -> Iterator[Project]:
    """Yield a project on the cluster without gangs."""
    exports = {**environment(toolchain.pulumi), "KUBECONFIG": str(without_gangs.kubeconfig)}
    yield from own_project(tmp_path, exports, cluster)


ROLES = {"master": {"replicas": 1, "cpu": 1, "memory": "1Gi"}, "worker": {"replicas": 2, "cpu": 1, "memory": "1Gi"}}
WITHOUT: dict[str, dict[str, Any]] = {
    **{backend: sweep(backend, roles=ROLES) for backend in ("jobset", "trainer", "kubeflow", "kubedl")},
    "tfjob": sweep("kubeflow", **TENSORFLOW),
    "mpijob": sweep("kubeflow", **MPI),
}


def test_jobs_without_admission(own: Project, cluster: Live) -> None:
    """Their pods start as planned, by Kubernetes' scheduler, and no operator makes a gang."""
    own.environment(admission="none")
    write(own, WITHOUT)
    stack = stack_of(own, "all", list(WITHOUT))
    own.up(stack)
    for name in WITHOUT:
        plan = own.plan(name)
        as_planned(cluster, plan)
        for pod in pods_of(cluster, plan).values():
            assert pod["spec"]["schedulerName"] == "default-scheduler"
            assert "scheduling.k8s.io/group-name" not in pod["metadata"].get("annotations", {})
    assert cluster.find_all("podgroups", own.namespace) == []
    own.unchanged(stack)
    own.destroy(stack)
    until(lambda: not cluster.find_all("pods", own.namespace), "all pods to go")


QUOTAS = {"cpu": "512", "memory": "512Gi", "baidu.com/a800_80g_cgpu": "512"}


def with_queue(live: Live) -> Iterator[str]:
    """Yield the name of a new namespace, whose LocalQueue `default` admits everything."""
    for namespace in own_namespace(live):
        with local_queue(live, namespace, QUOTAS, name=defaults.QUEUE) as name:
            yield name


def test_generated_jobs_without_admission_and_with_kueue(cluster: Live, examples: int) -> None:
    as_planned_on(cluster, [defaults.NONE, defaults.KUEUE], examples // 2, with_queue)


@pytest.fixture
def queue(own: Project, cluster: Live) -> Iterator[str]:
    with held_queue(cluster, own.namespace) as name:
        yield name


def on_kueue(**parts: Any) -> dict[str, dict[str, Any]]:
    return {
        "pytorch": sweep("kubeflow", queue="team", roles=ROLES, **parts),
        "tfjob": sweep("kubeflow", queue="team", **TENSORFLOW, **parts),
        "mpijob": sweep("kubeflow", queue="team", **MPI, **parts),
    }


PLURALS = {"pytorch": "pytorchjobs", "tfjob": "tfjobs", "mpijob": "mpijobs"}


def test_kueue_admits_jobs_of_training_operator(own: Project, cluster: Live, queue: str) -> None:
    """They are made suspended, and what Kueue switches is no change: an update leaves a job that runs as it is."""
    own.environment(admission="kueue", workload_priorities=True)
    write(own, on_kueue(priority_class=queue))
    stack = stack_of(own, "all", list(on_kueue()))
    output = own.pulumi("preview", "-s", stack).failed()
    assert f"the WorkloadPriorityClass {queue} does not exist" in " ".join(output.split())
    urgent = {"apiVersion": API_VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": queue}}
    cluster.make({**urgent, "value": 1000})
    own.up(stack)

    def priorities() -> list[int]:
        workloads = cluster.request("GET", f"{KUEUE}/namespaces/{own.namespace}/workloads").json()["items"]
        return [each["spec"]["priority"] for each in workloads]

    until(lambda: priorities() == [1000] * len(on_kueue()), "Kueue's Workloads with the priority of the class")

    def jobs() -> list[dict[str, Any]]:
        return [cluster.get(PLURALS[name], own.plan(name).job, own.namespace) for name in on_kueue()]

    def suspended() -> list[bool]:
        return [job["spec"]["runPolicy"]["suspend"] for job in jobs()]

    assert {*suspended()} == {True}
    assert cluster.find_all("pods", own.namespace) == []
    own.unchanged(stack)

    stop(cluster, queue, "None")
    for name in on_kueue():
        as_planned(cluster, own.plan(name))
    assert {*suspended()} == {False}
    assert cluster.find_all("podgroups", own.namespace) == []
    own.unchanged(stack)

    running = {
        name: pod["metadata"]["uid"] for each in on_kueue() for name, pod in pods_of(cluster, own.plan(each)).items()
    }
    write(own, on_kueue(priority_class=queue, labels={"team": "vision"}))
    assert {(step.op, step.name, step.paths) for step in own.applied(stack)} == {
        ("update", f"{name}-{key}", (path,))
        for name in on_kueue()
        for key, path in (("job", "metadata.labels.team"), ("deployed", RECORD))
    }
    assert {*suspended()} == {False}
    again = {
        name: pod["metadata"]["uid"] for each in on_kueue() for name, pod in pods_of(cluster, own.plan(each)).items()
    }
    assert again == running
    own.unchanged(stack)


def test_a_kind_that_kueue_does_not_manage(own: Project, cluster: Live, queue: str) -> None:
    """Kueue's default leaves PyTorchJob out: the preflight asks the webhooks, and `status` says why a job waits."""
    own.environment(admission="kueue")
    write(own, {"pytorch": on_kueue()["pytorch"]})
    stack = own.stack("pytorch")
    configuration = cluster.request("GET", WEBHOOKS).json()
    others = [each for each in configuration["webhooks"] if "pytorchjob" not in each["name"]]
    assert len(others) == len(configuration["webhooks"]) - 1
    cluster.merge(WEBHOOKS, {"webhooks": others})
    try:
        reason = "Kueue makes no Workload of a PyTorchJob on this cluster"
        until(
            lambda: reason in " ".join(own.pulumi("preview", "-s", stack).output.split()),
            "the API server to see that the webhook is gone",
        )
    finally:
        cluster.merge(WEBHOOKS, {"webhooks": configuration["webhooks"]})

    rendered = own.rendered("pytorch")
    for manifest in rendered.manifests:
        body = json.loads(json.dumps(manifest.body))
        body["metadata"]["labels"].pop("kueue.x-k8s.io/queue-name", None)  # so that Kueue leaves it alone
        cluster.make(body)
    said = "has created no Workload for the job"
    until(lambda: said in " ".join(own.trainform("status", stack).output.split()), "the job to wait for long enough")
