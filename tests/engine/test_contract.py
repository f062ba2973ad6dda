"""The launch contract on the live cluster: the pods that Volcano's controller really makes are those of the plan.

The three teaching experiments go up as they are, but for what the sandbox has no use for, all in one stack. What their
launchers make of it, `test_rehearsals` shows.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.differences import changed
from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.model import Plan
from trainform.plan.variables import expanded

pytestmark = pytest.mark.proof(
    "pods of every launcher in the cluster; `make test` has them from the controllers' models"
)

TOKEN = "kube-api-access-"  # noqa: S105 - the volume that Kubernetes adds to every pod
MNIST_NODE = {"kubernetes.io/hostname": "a800-3"}
CROWDED_NODE = {"kubernetes.io/hostname": "a800-4"}
MINE = "first.example.com,second.example.com"


def without_token(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in found if not item["name"].startswith(TOKEN)]


def as_planned(live: Live, plan: Plan) -> list[dict[str, Any]]:
    """Return the running pods; fails the test where they are not what the plan said and the controller is known to make
    of it."""
    said_pods, said_maps = BACKENDS[plan.backend].pods(plan, job_manifests(plan))
    pods = {pod["metadata"]["name"]: pod for pod in pods_of(live, plan).values()}
    assert pods.keys() == {pod["metadata"]["name"] for pod in said_pods} == {pod.name for pod in plan.pods()}
    for name, data in said_maps.items():
        assert live.get("configmaps", name, plan.namespace)["data"] == data
    for said in said_pods:
        found = pods[said["metadata"]["name"]]
        assert list(changed(said["metadata"], found["metadata"])) == []
        _same_spec(said["spec"], found["spec"])
    for pod in plan.pods():
        spec = pods[pod.name]["spec"]
        assert f"{spec['hostname']}.{spec['subdomain']}" == pod.address
    return [pods[pod.name] for pod in plan.pods()]


def _same_spec(said: dict[str, Any], found: dict[str, Any]) -> None:
    lists = ("containers", "initContainers", "volumes", "tolerations")
    assert list(changed({key: value for key, value in said.items() if key not in lists}, found)) == []
    assert list(changed(said["volumes"], without_token(found["volumes"]))) == []
    for kind in ("initContainers", "containers"):
        ours, theirs = said.get(kind, []), found.get(kind, [])
        assert [container["name"] for container in ours] == [container["name"] for container in theirs]
        for container, made in zip(ours, theirs, strict=True):
            # whole lists, in order: of two variables with one name the last wins
            assert made["env"] == container["env"]
            assert without_token(made["volumeMounts"]) == container["volumeMounts"]
            assert list(changed(container, {**made, "volumeMounts": container["volumeMounts"]})) == []


def data_of(live: Live, pod: dict[str, Any]) -> dict[str, str]:
    """Return the container's variables, but for those from its own metadata, as the kubelet works them out."""
    values: dict[str, str] = {}
    for entry in pod["spec"]["containers"][0]["env"]:
        origin = entry.get("valueFrom", {}).get("configMapKeyRef")
        if origin is not None:
            values[entry["name"]] = live.get("configmaps", origin["name"], pod["metadata"]["namespace"])["data"][
                origin["key"]
            ]
        elif "valueFrom" not in entry:
            values[entry["name"]] = expanded(entry.get("value", ""), values)
    return values


def host_ports(pod: dict[str, Any]) -> list[int]:
    return [port["hostPort"] for port in pod["spec"]["containers"][0].get("ports", [])]


def without_user_claims(data: dict[str, Any]) -> None:
    """Claims of terabytes say nothing here."""
    data["storage"] = {"data": {"size": "1Gi", "mount": "/mnt/data"}}


def addresses(ports: str) -> Callable[[dict[str, Any]], object]:
    """Return a Service for every replica."""
    return lambda data: data.update(network={"host": True, "addresses": "service", "ports": ports})


EXPERIMENTS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "llama-sft": ("llama-sft", without_user_claims),
    "allreduce": ("allreduce", lambda data: data.update(env={"VC_WORKER_HOSTS": MINE})),
    # all on one node: it can only be by ports of their own
    "mnist": ("mnist", lambda data: data.update(node_selector=MNIST_NODE)),
    "mnist-shared": ("mnist", lambda data: data["network"].update(ports="shared")),
    "mnist-crowded": (
        "mnist",
        lambda data: (data["network"].update(ports="shared"), data.update(node_selector=CROWDED_NODE)),
    ),
    # the first selects by our own label, the other by Volcano's
    "mnist-addresses": ("mnist", addresses("per-replica")),
    "mnist-addresses-shared": ("mnist", addresses("shared")),
}


@dataclasses.dataclass(frozen=True)
class Applied:
    """The stack of all experiments, up, and what `pulumi up` said."""

    project: Project
    stack: str
    output: str


@pytest.fixture(scope="module")
def applied(shared_project: Project) -> Applied:
    """Return all experiments up."""
    for name, (source, edit) in EXPERIMENTS.items():
        shared_project.copied(source, edit, name)
    stack = stack_of(shared_project, "contract", list(EXPERIMENTS))
    return Applied(shared_project, stack, shared_project.up(stack))


def test_deepspeed(applied: Applied, live: Live) -> None:
    plan = applied.project.plan("llama-sft")
    pods = as_planned(live, plan)
    files = live.get("configmaps", plan.launch_files, plan.namespace)["data"]
    assert files == plan.files
    assert files["hostfile"].splitlines() == [f"{pod.address} slots=8" for pod in plan.pods()]
    hosts = [pod.address for pod in plan.pods()]
    assert [data_of(live, pod)["VC_WORKER_HOSTS"] for pod in pods] == [",".join(hosts[1:])] * 4
    assert {data_of(live, pod)["VC_WORKER_NUM"] for pod in pods} == {"3"}
    indices = {pod["metadata"]["name"]: pod["metadata"]["labels"]["volcano.sh/task-index"] for pod in pods}
    assert [indices[pod.name] for pod in plan.pods()] == [str(pod.index) for pod in plan.pods()]
    assert live.get("services", "llama-sft", plan.namespace)["spec"]["publishNotReadyAddresses"]


def test_mpi_and_a_value_of_the_user_for_a_variable_of_volcano(applied: Applied, live: Live) -> None:
    for pod in as_planned(live, applied.project.plan("allreduce")):
        variables = data_of(live, pod)
        assert variables["VC_WORKER_HOSTS"] != MINE  # as Volcano appends it, over the user's
        assert variables["VC_LAUNCHER_NUM"] == "1"
        *before, _shell, _run, _another_shell, _script = [
            expanded(word, variables) for word in pod["spec"]["containers"][0]["command"]
        ]
        # what the first words make of it is what the launch script sees
        seen = subprocess.run(
            [*before, "printenv", "VC_WORKER_HOSTS"],
            env=variables | {"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert seen.stdout == f"{MINE}\n"


def test_tensorflow_with_ports_of_their_own(applied: Applied, live: Live) -> None:
    pods = as_planned(live, applied.project.plan("mnist"))
    assert {pod["spec"]["nodeName"] for pod in pods} == {"a800-3"}
    numbers = [number for pod in pods for number in host_ports(pod)]
    assert len(numbers) == len(set(numbers)) == 5


def test_three_pods_with_one_host_port_have_no_place_on_one_node(applied: Applied, live: Live) -> None:
    """And a gang starts together or not at all."""
    job, namespace = applied.project.plan("mnist-crowded").job, applied.project.namespace

    def of_job(plural: str) -> list[dict[str, Any]]:
        return [found for found in live.find_all(plural, namespace) if found["metadata"]["name"].startswith(f"{job}-")]

    def refused() -> bool:
        return any(
            condition["type"] == "Unschedulable"
            for group in of_job("podgroups")
            for condition in group["status"].get("conditions", [])
        )

    until(refused, "the scheduler to say that the gang has no place")
    assert {pod["status"]["phase"] for pod in of_job("pods")} <= {"Pending"}


def slices(live: Live, plan: Plan) -> dict[str, tuple[dict[int, int], list[str]]]:
    """Per Service of one replica: constant port → port of the pod, and the names of the ready pods behind it."""
    services = {
        service["metadata"]["name"]: {port["name"]: port["port"] for port in service["spec"]["ports"]}
        for service in live.find_all("services", plan.namespace)
        if "ports" in service["spec"] and service["metadata"]["labels"]["app.kubernetes.io/name"] == plan.experiment
    }
    found = {}
    for item in live.find_all("endpointslices", plan.namespace):
        name = item["metadata"]["labels"]["kubernetes.io/service-name"]
        if name in services:
            ports = {services[name][port["name"]]: port["port"] for port in item["ports"] or []}
            found[name] = (ports, [endpoint["targetRef"]["name"] for endpoint in item["endpoints"] or []])
    return found


@pytest.mark.parametrize("name", ["mnist-addresses", "mnist-addresses-shared"])
def test_a_service_for_every_replica(applied: Applied, live: Live, name: str) -> None:
    # it would take the provider ten seconds, and the pods come later
    assert re.findall(rf"{name}-service-\S+ .*Finding Pods", applied.output) == []
    plan = applied.project.plan(name)
    pods = dict(zip((pod.name for pod in plan.pods()), as_planned(live, plan), strict=True))
    expected = {
        f"{name}-{pod.role}-{pod.index}": ({2222: host_ports(pods[pod.name])[0]}, [pod.name]) for pod in plan.pods()
    }
    assert len(expected) == 5
    until(lambda: slices(live, plan) == expected, f"endpoints of {name}")


def test_a_preview_of_what_is_up_shows_no_change(applied: Applied) -> None:
    applied.project.unchanged(applied.stack)
