"""Names, addresses and ports of every replica."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.support.samples import experiment, layout_of, plan, reasons
from trainform.plan.layout import RENDEZVOUS, SSH, TENSORFLOW, Layout
from trainform.plan.model import ReplicaService

MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["python"]}}}
TENSORFLOW_JOB: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["python"]}}}
WATCHER = {"ranked": False, "command": ["python", "watch.py"]}
ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}, "watcher": WATCHER}
HOST, SERVICE = {"host": True}, {"addresses": "service"}
PER_REPLICA = {**HOST, "ports": "per-replica"}
ELASTIC: dict[str, Any] = {
    "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 8}}}
}


def layout(**parts: Any) -> Layout:
    return layout_of(experiment(**{"roles": ROLES, **parts}))


def test_addresses_of_services() -> None:
    found = layout(network=SERVICE)
    assert found.address("worker", 2) == "sdxl-lora-worker-2", "it does not follow the revision"
    assert found.pod_address("worker", 2) == "sdxl-lora-1f3a9c-worker-2.sdxl-lora"
    assert found.address("watcher", 0) == "sdxl-lora-1f3a9c-watcher-0.sdxl-lora", "extras have none"


def test_replicas_with_templates_of_their_own() -> None:
    """Each is a task, and Volcano numbers pods in a task."""
    found = layout(network=PER_REPLICA)
    assert found.pod("worker", 2) == "sdxl-lora-1f3a9c-worker-2-0"
    assert found.pod("watcher", 0) == "sdxl-lora-1f3a9c-watcher-0"
    made = plan(network=PER_REPLICA, roles=ROLES)
    assert [(pod.role, pod.index, pod.rank) for pod in made.pods()] == [
        ("master", 0, 0), ("worker", 0, 1), ("worker", 1, 2), ("worker", 2, 3), ("watcher", 0, None),
    ]  # fmt: skip
    assert [pod.name.removeprefix(made.job) for pod in made.pods()] == [
        "-master-0-0", "-worker-0-0", "-worker-1-0", "-worker-2-0", "-watcher-0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("network", "listens", "called"),
    [
        ({}, [2222] * 3, [2222] * 3),
        ({"port": 3333}, [3333] * 3, [3333] * 3),
        (SERVICE, [2222] * 3, [2222] * 3),
        ({**HOST, "port": 20100}, [20100] * 3, [20100] * 3),
        ({**PER_REPLICA, "port": 20100}, [20100, 20101, 20102], [20100, 20101, 20102]),
        ({**PER_REPLICA, **SERVICE, "port": 20100}, [20100, 20101, 20102], [20100] * 3),
    ],
)
def test_own_ports_and_ports_for_peers(network: dict[str, Any], listens: list[int], called: list[int]) -> None:
    found = layout(**TENSORFLOW_JOB, roles={"worker": {"replicas": 3}}, network=network)
    assert [found.listens_on("worker", index, TENSORFLOW) for index in range(3)] == listens
    assert [found.peer_port("worker", index, TENSORFLOW) for index in range(3)] == called
    assert found.listens_on("worker", 0, SSH) is None


def test_a_service_in_front_of_a_chosen_port() -> None:
    found = layout(network={**HOST, **SERVICE})
    assert found.peer_port("master", 0, RENDEZVOUS) == found.rendezvous_port == 29500
    assert found.listens_on("master", 0, RENDEZVOUS) not in (None, 29500)
    assert found.listens_on("worker", 0, RENDEZVOUS) is None


NAMES: dict[str, Any] = {"worker": {}, "worker-x": {"replicas": 2}, "x": {"replicas": 12}, "worker-x-y": {}}


@pytest.mark.parametrize("network", [HOST, PER_REPLICA])
@pytest.mark.parametrize("roles", [NAMES, dict(reversed(NAMES.items()))])
def test_every_host_finds_its_own_port(network: dict[str, Any], roles: dict[str, Any]) -> None:
    """Of patterns the first that fits holds, and `…-worker-*` fits the pods of `worker-x` too."""
    found = layout(launcher={"command": ["python"]}, ssh={}, network=network, roles=roles)
    for role, described in roles.items():
        for index in range(described.get("replicas", 1)):
            name = found.pod_address(role, index)
            fits = [port for pattern, port in found.ssh_ports() if fnmatchcase(name, pattern)]
            assert fits[0] == found.listens_on(role, index, SSH)


def test_patterns_fit_the_pods_of_any_revision() -> None:
    patterns = [pattern for pattern, _ in layout(**MPI, network=HOST).ssh_ports()]
    assert patterns == ["sdxl-lora-??????-master-*", "sdxl-lora-??????-worker-*"]
    own = [pattern for pattern, _ in layout(**MPI, network=PER_REPLICA).ssh_ports()]
    assert own == [f"sdxl-lora-??????-{group}-*" for group in ("master-0", "worker-0", "worker-1", "worker-2")]


def test_the_identity_on_the_plan() -> None:
    made = plan(**MPI, roles=ROLES)
    assert made.ssh is not None
    identity = (made.ssh.secret, made.ssh.made, made.ssh.rotation, made.ssh.folder)
    assert identity == ("sdxl-lora-ssh", True, 1, "/root/.ssh")
    assert made.ssh.roles == ("master", "worker")
    user = {"user": 1000, "home": "/home/trainer/"}
    theirs = plan(**MPI, roles=ROLES, ssh={"secret": "team.keys"}, run_as=user)
    assert theirs.ssh is not None
    assert (theirs.ssh.secret, theirs.ssh.made, theirs.ssh.folder) == ("team.keys", False, "/home/trainer/.ssh")
    assert plan(roles=ROLES).ssh is None


def services(**parts: Any) -> tuple[ReplicaService, ...]:
    return plan(**{"roles": ROLES, "network": SERVICE, **parts}).services


def test_services_of_replicas() -> None:
    assert services(network={}) == ()
    assert services() == (ReplicaService("sdxl-lora-master-0", "master", 0, (("rendezvous", 29500, 29500),)),)
    assert services(ssh={"roles": ["worker"]})[1:] == tuple(
        ReplicaService(f"sdxl-lora-worker-{index}", "worker", index, (("ssh", 22, 22),)) for index in range(3)
    )


def test_services_have_constant_ports_in_front_of_each_replicas_own() -> None:
    found = services(**TENSORFLOW_JOB, roles={"ps": {}, "worker": {"replicas": 2}}, network={**PER_REPLICA, **SERVICE})
    assert [service.name for service in found] == ["sdxl-lora-ps-0", "sdxl-lora-worker-0", "sdxl-lora-worker-1"]
    assert {service.ports[0][:2] for service in found} == {("tensorflow", 2222)}
    assert len({service.ports[0][2] for service in found}) == 3


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({**ELASTIC, "network": HOST, "ssh": {}}, {}),
        ({"network": {**PER_REPLICA, **SERVICE}}, {}),
        ({**MPI, "network": PER_REPLICA}, {}),
        ({**MPI, "network": SERVICE}, {}),
        (
            {**MPI, "network": {**HOST, **SERVICE}},
            {"network.addresses": "the value gives rank 0 another port than its peers call, and mpi knows one for all"},
        ),
    ],
)
def test_rules(parts: dict[str, Any], found: dict[str, str]) -> None:
    """tests/spec/bad/addresses-and-ports has the others."""
    assert reasons(**{"roles": ROLES, **parts}) == found


def test_a_service_never_has_a_longer_name_than_its_pod() -> None:
    """So the limit of pods' names is theirs too."""
    for network in (SERVICE, {**PER_REPLICA, **SERVICE}):
        made = plan(network=network, roles=ROLES, ssh={})
        pods = {(pod.role, pod.index): pod.name for pod in made.pods()}
        for service in made.services:
            assert len(service.name) < len(pods[service.role, service.index])
    found = reasons(name="y" * 56, network=SERVICE, roles={"w" * 12: {"replicas": 10}})
    assert list(found) == [f"roles.{'w' * 12}"]
    assert found[f"roles.{'w' * 12}"].startswith("the pod name ")
