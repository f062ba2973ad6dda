"""A running sandbox and its real components."""

from __future__ import annotations

import contextlib
import os
import stat

import lightkube
import psutil
import pytest
from lightkube.resources.core_v1 import Node
from msgspec import structs

from tests.local.sandbox.conftest import small_settings, state_of, until
from tests.local.toolchain.recording import Recording
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.components import COMPONENTS
from trainform.local.sandbox.control import Sandbox, up
from trainform.local.sandbox.settings import NodePool, Taint
from trainform.local.sandbox.status import status
from trainform.local.sandbox.webhooks import ADMISSION_PATHS
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.shows("a control plane with its webhooks, scheduler and nodes")

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"


def _job(name: str, minimum: int = 4, annotations: dict[str, str] | None = None) -> dict[str, object]:
    container = {
        "name": "trainer",
        "image": "registry.example.com/ai/pytorch:2.3",
        "resources": {"limits": {"cpu": "8", "baidu.com/a800_80g_cgpu": "8", "rdma/hca": "1"}},
    }
    template = {
        "metadata": {"annotations": {} if annotations is None else annotations},
        "spec": {"restartPolicy": "Never", "hostNetwork": True, "containers": [container]},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": minimum,
            "tasks": [{"name": "worker", "replicas": 4, "template": template}],
        },
    }


def test_every_component_listens_on_loopback_only(sandbox: Sandbox) -> None:
    addresses = {}
    for process in state_of(sandbox.folder).processes:
        connections = psutil.Process(process.pid).net_connections("inet")
        addresses[process.name] = {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
    assert len(addresses) == len(COMPONENTS)
    assert set().union(*addresses.values()) == {"127.0.0.1"}
    assert {name for name, found in addresses.items() if found} == {row.name for row in COMPONENTS if row.port}


def test_gogc_is_passed_to_every_component(sandbox: Sandbox) -> None:
    environments = [psutil.Process(process.pid).environ() for process in state_of(sandbox.folder).processes]
    assert {environ["GOGC"] for environ in environments} == {os.environ["GOGC"]}


def test_files_are_for_this_user_only(sandbox: Sandbox) -> None:
    # Not below etcd and pulumi-state, where other programs write: other users cannot enter the folders above.
    ours = [
        sandbox.folder,
        *sandbox.folder.iterdir(),
        *(sandbox.folder / "pki").iterdir(),
        *(sandbox.folder / "logs").iterdir(),
    ]
    for path in ours:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_nodes_offer_the_accelerators_and_have_addresses_of_their_own(api: Api) -> None:
    nodes = api.get("/api/v1/nodes")["items"]
    assert sorted(node["metadata"]["name"] for node in nodes) == [*(f"a800-{i}" for i in range(4)), "cpu-0", "cpu-1"]
    addresses = [a["address"] for node in nodes for a in node["status"]["addresses"] if a["type"] == "InternalIP"]
    assert len(set(addresses)) == 6
    assert nodes[0]["status"]["allocatable"]["baidu.com/a800_80g_cgpu"] == "8"
    assert nodes[0]["metadata"]["labels"]["trainform.dev/accelerator"] == "a800"
    assert nodes[0]["metadata"]["labels"]["kubernetes.io/hostname"] == "a800-0"


def test_all_webhooks_of_the_chart_are_registered(api: Api) -> None:
    found = [
        item["metadata"]["name"].removeprefix("volcano-admission-service-")
        for kind in ("mutating", "validating")
        for item in api.get(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations")["items"]
    ]
    assert sorted(found) == sorted(path.strip("/").replace("/", "-") for path in ADMISSION_PATHS)
    assert len(found) == 7


@pytest.mark.parametrize(
    ("path", "manifest", "reason"),
    [
        (JOBS, _job("too-many", minimum=9), "'minAvailable' should not be greater than total replicas"),
        (
            QUEUES,
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": "orphan"},
                "spec": {"weight": 1, "parent": "nowhere"},
            },
            "nowhere",
        ),
        (
            "/apis/topology.volcano.sh/v1alpha1/hypernodes",
            {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": "rack"},
                "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]},
            },
            "regexMatch pattern is invalid",
        ),
    ],
)
def test_webhooks_deny_what_volcano_denies(api: Api, path: str, manifest: dict[str, object], reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        api.create(path, manifest)
    assert "admission webhook" in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("storage_class", [None, "cephfs-ssd"])
def test_claims_are_bound_resized_and_deleted_with_their_volume(api: Api, storage_class: str | None) -> None:
    name = f"claim-{storage_class}".lower()
    spec: dict[str, object] = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "2Ti"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    api.create(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})
    until(lambda: bool(api.get(f"{CLAIMS}/{name}")["status"]["phase"] == "Bound"))
    claim = api.get(f"{CLAIMS}/{name}")
    assert claim["spec"]["storageClassName"] == ("sandbox" if storage_class is None else storage_class)
    volume = f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}"
    assert api.get(volume)["spec"]["claimRef"]["name"] == name
    api.merge(f"{CLAIMS}/{name}", {"spec": {"resources": {"requests": {"storage": "3Ti"}}}})
    until(lambda: bool(api.get(f"{CLAIMS}/{name}")["status"]["capacity"]["storage"] == "3Ti"))
    api.delete(f"{CLAIMS}/{name}")
    until(lambda: volume.rsplit("/", 1)[1] not in _names(api, "/api/v1/persistentvolumes"))


def _names(api: Api, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in api.get(path)["items"]]


@pytest.mark.parametrize(("code", "phase"), [("0", "Completed"), ("137", "Failed")])
def test_a_pod_ends_after_the_time_in_its_annotation(api: Api, code: str, phase: str) -> None:
    name = f"short-{code}"
    manifest = _job(name, annotations={"sandbox.trainform.dev/run-for": "1s", "sandbox.trainform.dev/exit-code": code})
    spec = manifest["spec"]
    assert isinstance(spec, dict)
    spec["policies"] = [
        {"event": "PodFailed", "action": "TerminateJob"},
        {"event": "TaskCompleted", "action": "CompleteJob"},
    ]
    api.create(JOBS, manifest)
    expected = {"Completed": ("Completed",), "Failed": ("Failed", "Terminated")}[phase]
    until(lambda: api.get(f"{JOBS}/{name}").get("status", {}).get("state", {}).get("phase") in expected)
    api.delete(f"{JOBS}/{name}")
    until(lambda: not _pods(api, name))


def _pods(api: Api, job: str) -> list[dict[str, dict[str, str]]]:
    pods: list[dict[str, dict[str, str]]] = api.get(f"{PODS}?labelSelector=volcano.sh/job-name={job}")["items"]
    return pods


@pytest.mark.parametrize("context", ["trainform-sandbox", "dev-cluster"])
def test_the_kubeconfig_works_for_other_clients_under_every_name(sandbox: Sandbox, context: str) -> None:
    config = lightkube.KubeConfig.from_file(sandbox.kubeconfig).get(context)
    assert config is not None
    assert config.namespace == "default"
    with contextlib.closing(lightkube.Client(config=config)) as client:
        assert len(list(client.list(Node))) == 6


def test_status_lists_components_and_nodes(sandbox: Sandbox) -> None:
    found = status(sandbox.folder)
    assert found.running
    assert found.url == sandbox.url
    assert (found.nodes_ready, found.nodes) == (6, 6)
    assert [row.name for row in found.components] == [row.name for row in COMPONENTS]
    assert all(row.running and row.log.is_file() for row in found.components)
    assert found.as_dict()["components"][0]["log"].endswith("logs/etcd.log")


def test_up_again_does_nothing_and_says_so(sandbox: Sandbox, toolchain: Toolchain) -> None:
    before = state_of(sandbox.folder)
    progress = Recording()
    assert up(small_settings(sandbox.folder), toolchain, progress) == sandbox
    assert progress.lines == [f"the sandbox in {sandbox.folder} is up already"]
    assert state_of(sandbox.folder) == before


def test_other_settings_change_nodes_classes_and_contexts_but_no_process(
    sandbox: Sandbox, toolchain: Toolchain, api: Api
) -> None:
    before = state_of(sandbox.folder)
    settings = small_settings(sandbox.folder)
    h100 = NodePool(
        "h100",
        3,
        {"cpu": "64", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "8"},
        {},
        (Taint("gpu", "", "NoSchedule"),),
    )
    fewer = structs.replace(settings.pools[0], count=2)
    kept = api.get("/api/v1/nodes/a800-0")["metadata"]["uid"]
    other = structs.replace(
        settings, pools=(fewer, settings.pools[1], h100), storage_classes=("nfs",), contexts=("prod-cluster",)
    )
    up(other, toolchain)
    try:
        assert _names(api, "/api/v1/nodes") == ["a800-0", "a800-1", "cpu-0", "cpu-1", "h100-0", "h100-1", "h100-2"]
        assert api.get("/api/v1/nodes/a800-0")["metadata"]["uid"] == kept
        assert api.get("/api/v1/nodes/h100-0")["spec"]["taints"] == [{"key": "gpu", "effect": "NoSchedule"}]
        assert _names(api, "/apis/storage.k8s.io/v1/storageclasses") == ["nfs", "sandbox"]
        assert "prod-cluster" in sandbox.kubeconfig.read_text()
        assert state_of(sandbox.folder).processes == before.processes
    finally:
        up(settings, toolchain)
    assert len(_names(api, "/api/v1/nodes")) == 6
