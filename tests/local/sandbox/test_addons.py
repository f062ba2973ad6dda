"""Every add-on's real controller works with real objects."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from tests.local.sandbox.conftest import api_of, state_of, until
from tests.local.sandbox.namespace import Manifest, Namespace, environment_of, roles_of, template
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.components import COMPONENTS
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.status import status

pytestmark = pytest.mark.proof("every add-on of the sandbox")

_numbers = itertools.count(1)
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


@pytest.fixture(scope="module")
def cluster(addons: Sandbox) -> Iterator[Api]:
    """The API server of the sandbox with all add-ons."""
    with api_of(addons.folder) as api:
        yield api


@pytest.fixture
def namespace(cluster: Api) -> Iterator[Namespace]:
    """A new namespace for one test."""
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


def test_a_pytorchjob_is_a_gang_of_volcano(namespace: Namespace) -> None:
    spec = {
        "nprocPerNode": "8",
        "runPolicy": {"schedulingPolicy": {"queue": "default"}},
        "pytorchReplicaSpecs": roles_of("pytorch", Master=1, Worker=3),
    }
    namespace.create(
        "kubeflow.org/v1", "pytorchjobs", {"kind": "PyTorchJob", "metadata": {"name": "gpt"}, "spec": spec}
    )
    pods = namespace.running("training.kubeflow.org/job-name", "gpt", 4)
    assert [pod["metadata"]["name"] for pod in pods] == ["gpt-master-0", *(f"gpt-worker-{i}" for i in range(3))]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    found = environment_of(pods[2])
    assert (found["WORLD_SIZE"], found["RANK"], found["MASTER_ADDR"]) == ("32", "2", "gpt-master-0")
    group = namespace.get("scheduling.volcano.sh/v1beta1", "podgroups", "gpt")
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (4, "default")
    # The garbage collector knew the kind when it started, so the pods are deleted at once.
    namespace.api.delete(namespace.path("kubeflow.org/v1", "pytorchjobs", "gpt"))
    until(lambda: not namespace.pods("training.kubeflow.org/job-name", "gpt"))


@pytest.mark.parametrize(
    ("plural", "kind", "field", "roles", "count"),
    [
        ("tfjobs", "TFJob", "tfReplicaSpecs", roles_of("tensorflow", Chief=1, PS=1, Worker=2), 4),
        ("mpijobs", "MPIJob", "mpiReplicaSpecs", roles_of("mpi", Launcher=1, Worker=2), 3),
    ],
)
def test_the_training_operator_runs_its_other_kinds(
    namespace: Namespace, plural: str, kind: str, field: str, roles: Manifest, count: int
) -> None:
    namespace.create("kubeflow.org/v1", plural, {"kind": kind, "metadata": {"name": "other"}, "spec": {field: roles}})
    namespace.running("training.kubeflow.org/job-name", "other", count)


def _make_runtime(namespace: Namespace) -> None:
    pods = {"template": template("node", schedulerName="volcano")}
    job = {"name": "node", "template": {"metadata": {"labels": {ANCESTOR: "trainer"}}, "spec": pods}}
    jobset = {
        "metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "default"}},
        "spec": {"replicatedJobs": [job]},
    }
    spec = {"mlPolicy": {"numNodes": 1, "torch": {}}, "podGroupPolicy": {"volcano": {}}, "template": jobset}
    group = "trainer.kubeflow.org/v1alpha1"
    namespace.create(
        group, "trainingruntimes", {"kind": "TrainingRuntime", "metadata": {"name": "torch"}, "spec": spec}
    )


def _trainjob(namespace: Namespace, name: str, nodes: int, labels: dict[str, str] | None = None) -> Manifest:
    wanted = {
        "runtimeRef": {"name": "torch", "kind": "TrainingRuntime"},
        "trainer": {"numNodes": nodes, "numProcPerNode": 8},
    }
    metadata = {"name": name, "labels": {} if labels is None else labels}
    manifest = {"kind": "TrainJob", "metadata": metadata, "spec": wanted}
    # the webhooks see the runtime a moment after it was created
    end = time.monotonic() + 30
    while True:
        try:
            return namespace.create("trainer.kubeflow.org/v1alpha1", "trainjobs", manifest)
        except RequestError as refused:
            if "not found" not in str(refused) or time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_a_trainjob_becomes_a_jobset_and_a_gang(namespace: Namespace) -> None:
    _make_runtime(namespace)
    _trainjob(namespace, "llm", 3)
    pods = namespace.running("jobset.sigs.k8s.io/jobset-name", "llm", 3)
    found = environment_of(pods[0])
    assert (found["PET_NNODES"], found["PET_NPROC_PER_NODE"], found["PET_MASTER_ADDR"]) == (
        "3",
        "8",
        "llm-node-0-0.llm",
    )
    [job] = namespace.get("jobset.x-k8s.io/v1alpha2", "jobsets", "llm")["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["completionMode"] == "Indexed", "JobSet's webhook sets what Trainer leaves out"
    group = namespace.get("scheduling.volcano.sh/v1beta1", "podgroups", "llm")
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (3, "default")


def _jobset(name: str, pods: int, labels: dict[str, str] | None = None) -> Manifest:
    job = {"parallelism": pods, "completions": pods, "template": template("main")}
    return {
        "kind": "JobSet",
        "metadata": {"name": name, "labels": {} if labels is None else labels},
        "spec": {"replicatedJobs": [{"name": "worker", "template": {"spec": job}}]},
    }


def test_pods_of_a_jobset_that_name_no_scheduler_are_placed(namespace: Namespace) -> None:
    made = namespace.create("jobset.x-k8s.io/v1alpha2", "jobsets", _jobset("sweep", 2))
    assert made["spec"]["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    pods = namespace.running("jobset.sigs.k8s.io/jobset-name", "sweep", 2)
    assert [pod["spec"]["hostname"] for pod in pods] == ["sweep-worker-0-0", "sweep-worker-0-1"]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"default-scheduler"}


@pytest.fixture
def queue(namespace: Namespace) -> Iterator[str]:
    """A name for Kueue's cluster-scoped objects, which are deleted after the test."""
    yield namespace.name
    for plural in ("clusterqueues", "resourceflavors"):
        namespace.api.delete(f"/apis/kueue.x-k8s.io/v1beta2/{plural}/{namespace.name}")


def _make_queue(namespace: Namespace, name: str) -> None:
    quota = {"name": "cpu", "nominalQuota": "32"}, {"name": "memory", "nominalQuota": "64Gi"}
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": list(quota)}]}
    rows: tuple[tuple[str, str, str, Manifest | None], ...] = (
        ("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", "ResourceFlavor", name, None),
        (
            "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
            "ClusterQueue",
            name,
            {"namespaceSelector": {}, "resourceGroups": [group]},
        ),
        (namespace.path("kueue.x-k8s.io/v1beta2", "localqueues"), "LocalQueue", "team", {"clusterQueue": name}),
    )
    for path, kind, called, spec in rows:
        manifest: Manifest = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": called}}
        namespace.api.create(path, manifest if spec is None else {**manifest, "spec": spec})


def test_a_jobset_with_a_queue_is_suspended_until_kueue_admits_it(namespace: Namespace, queue: str) -> None:
    group = "jobset.x-k8s.io/v1alpha2"
    made = namespace.create(group, "jobsets", _jobset("queued", 2, {QUEUE_NAME: "team"}))
    assert made["spec"]["suspend"] is True
    workloads = namespace.path("kueue.x-k8s.io/v1beta2", "workloads")
    until(lambda: len(namespace.api.get(workloads)["items"]) == 1)
    assert not namespace.pods("jobset.sigs.k8s.io/jobset-name", "queued")
    _make_queue(namespace, queue)
    namespace.running("jobset.sigs.k8s.io/jobset-name", "queued", 2)
    assert namespace.get(group, "jobsets", "queued")["spec"]["suspend"] is False
    [workload] = namespace.api.get(workloads)["items"]
    assert workload["status"]["admission"]["clusterQueue"] == queue
    older = namespace.api.get(f"/apis/kueue.x-k8s.io/v1beta1/clusterqueues/{queue}")
    assert "cohortName" not in older["spec"], "the older version comes through Kueue's conversion"
    assert older["apiVersion"] == "kueue.x-k8s.io/v1beta1"


def test_a_trainjob_with_a_queue_waits_for_kueue_too(namespace: Namespace, queue: str) -> None:
    _make_queue(namespace, queue)
    _make_runtime(namespace)
    assert _trainjob(namespace, "plain", 1)["spec"]["suspend"] is False
    assert _trainjob(namespace, "queued", 2, {QUEUE_NAME: "team"})["spec"]["suspend"] is True
    namespace.running("jobset.sigs.k8s.io/jobset-name", "queued", 2)
    assert namespace.get("trainer.kubeflow.org/v1alpha1", "trainjobs", "queued")["spec"]["suspend"] is False


@pytest.mark.parametrize(
    ("plural", "kind", "field", "roles", "groups"),
    [
        ("tfjobs", "TFJob", "tfReplicaSpecs", roles_of("tensorflow", PS=1, Worker=2), {"old-ps": 1, "old-worker": 2}),
        (
            "pytorchjobs",
            "PyTorchJob",
            "pytorchReplicaSpecs",
            roles_of("pytorch", Master=1, Worker=2),
            {"old-master": 1, "old-worker": 2},
        ),
    ],
)
def test_kubedl_makes_a_gang_of_each_role(
    namespace: Namespace, plural: str, kind: str, field: str, roles: Manifest, groups: dict[str, int]
) -> None:
    group = "training.kubedl.io/v1alpha1"
    metadata = {"name": "old", "annotations": {"kubedl.io/network-mode": "host"}}
    spec = {"schedulingPolicy": {"queue": "default"}, field: roles}
    namespace.create(group, plural, {"kind": kind, "metadata": metadata, "spec": spec})
    pods = namespace.running("job-name", "old", 3)
    assert all(pod["spec"]["hostNetwork"] for pod in pods)
    found = namespace.api.get(namespace.path("scheduling.volcano.sh/v1beta1", "podgroups"))["items"]
    assert {item["metadata"]["name"]: item["spec"]["minMember"] for item in found} == groups
    # The status is written too, though KubeDL was made for a Kubernetes that is 12 versions older.
    until(
        lambda: (
            namespace.get(group, plural, "old").get("status", {}).get("conditions", [{}])[-1].get("type") == "Running"
        )
    )


@pytest.mark.parametrize(
    ("group", "plural", "manifest", "reason"),
    [
        (
            "kubeflow.org/v1",
            "pytorchjobs",
            {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles_of("pytorch", Master=2)}},
            "must be 1",
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "jobsets",
            {
                "kind": "JobSet",
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "worker",
                            "template": {"spec": {"template": template("main")}},
                            "dependsOn": [{"name": "setup", "status": "Complete"}],
                        }
                    ]
                },
            },
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
            _jobset("refused", 1, {QUEUE_NAME: "Not_A_Queue"}),
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


def ensure_with(names: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "trainform", "toolchain", "ensure", "--with", names]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_toolchain_ensure_with_built_add_ons_builds_nothing(addons: Sandbox) -> None:
    """The fixture `addons` has built them all."""
    done = ensure_with("trainer,kubedl")
    assert done.returncode == 0, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("pulumi: ")
    refused = ensure_with("trainer,ray")
    assert refused.returncode == 2
    assert "ray" in refused.stderr
