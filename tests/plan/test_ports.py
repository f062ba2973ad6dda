"""The ports that pods listen on: the usual ones on the pod network, stable ones of the environment's range on the host
network."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.generated_fields import names
from tests.support.samples import container, env, environment, experiment, layout_of, plan, reasons
from trainform.plan.model import Port

HOST = {"host": True}
PER_REPLICA = {"host": True, "ports": "per-replica"}
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["python"]}}}
TENSORFLOW: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["python"]}}}
PS = {"ps": {"replicas": 2}, "worker": {"replicas": 3}}
WATCHER = {"ranked": False, "command": ["python", "watch.py"]}


def numbers(**parts: Any) -> dict[str, list[dict[str, int]]]:
    """Numbers by purpose, for each set of ports of each role."""
    cluster = parts.pop("cluster", environment())
    found = layout_of(experiment(**parts), cluster).ports
    return {role: [{port.name: port.number for port in ports} for ports in sets] for role, sets in found.items()}


def test_each_purpose_has_its_usual_number() -> None:
    assert numbers(**MPI, roles={"master": {}, "worker": {}}) == {
        "master": [{"rendezvous": 29500, "ssh": 22}],
        "worker": [{"ssh": 22}],
    }
    assert numbers(**TENSORFLOW, roles={**PS, "watcher": WATCHER}) == {
        "ps": [{"tensorflow": 2222}], "worker": [{"tensorflow": 2222}], "watcher": [{}]
    }  # fmt: skip
    assert numbers(**TENSORFLOW, roles={"worker": {}, "evaluator": {}}, network={"port": 3333}) == {
        "worker": [{"tensorflow": 3333}], "evaluator": [{}]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "port"),
    [
        ({}, 22),
        ({"run_as": {"user": 0}}, 22),
        ({"run_as": {"user": 1000, "home": "/home/trainer"}}, 2022),
        ({"ssh": {"port": 2022}}, 2022),
        ({"ssh": {"port": 30022}, "run_as": {"user": 1000, "home": "/home/trainer"}}, 30022),
    ],
)
def test_sshd(parts: dict[str, Any], port: int) -> None:
    """A user other than root may not open ports below 1024."""
    made = plan(**MPI, roles={"master": {}, "worker": {}}, **parts)
    assert made.ssh is not None
    assert (made.ssh.port, made.ssh.ports) == (port, ())
    assert env(made, "worker")["TRAINFORM_SSH_PORT"] == str(port)
    assert {"name": "ssh", "containerPort": port, "protocol": "TCP"} in container(made, "worker")["ports"]


def test_who_runs_an_sshd() -> None:
    roles = {"master": {}, "worker": {}, "watcher": WATCHER}
    ssh = {"ssh": {"roles": ["worker", "watcher"]}}
    assert numbers(roles=roles, **ssh) == {"master": [{"rendezvous": 29500}], "worker": [{"ssh": 22}], "watcher": [{}]}
    assert numbers(roles=roles, ssh={})["master"] == [{"rendezvous": 29500, "ssh": 22}]


@given(names, st.integers(1, 65535), st.integers(1, 65535))
def test_on_the_host_network_it_is_in_the_range_and_stable(name: str, one: int, other: int) -> None:
    first, last = min(one, other), max(one, other)
    cluster = environment(ports=f"{first}-{last}")
    (found,) = numbers(name=name, network=HOST, cluster=cluster)["worker"]
    assert first <= found["rendezvous"] <= last
    changed = numbers(name=name, network=HOST, image="python:3.13", roles={"worker": {"replicas": 8}}, cluster=cluster)
    assert changed["worker"] == [found]


def test_numbers_follow_one_another_and_wrap() -> None:
    cluster = environment(ports="20000-20009")
    found = numbers(**MPI, network=HOST, roles={"master": {}, "worker": {}, "helper": {}}, cluster=cluster)
    order = [found["master"][0]["rendezvous"], *(found[role][0]["ssh"] for role in ("master", "worker", "helper"))]
    steps = [(later - earlier) % 10 for earlier, later in itertools.pairwise(order)]
    assert steps == [1, 1, 1]
    assert set(order) <= set(range(20000, 20010))
    wrapped = [
        numbers(**MPI, name=f"run-{number}", network=HOST, roles={"master": {}, "worker": {}}, cluster=cluster)[
            "master"
        ][0]
        for number in range(40)
    ]
    assert {"rendezvous": 20009, "ssh": 20000} in wrapped, "one of 40 begins at the end of a range of ten"


def test_every_replica_its_own() -> None:
    found = numbers(**TENSORFLOW, network=PER_REPLICA, roles={**PS, "watcher": {**WATCHER, "replicas": 4}})
    assert [len(sets) for sets in found.values()] == [2, 3, 1]
    all_of_them = [ports["tensorflow"] for role in ("ps", "worker") for ports in found[role]]
    assert len(set(all_of_them)) == 5
    assert found["watcher"] == [{}]


def test_the_users_port_counts_up() -> None:
    found = numbers(**TENSORFLOW, network={**PER_REPLICA, "port": 20100}, ssh={"port": 20200}, roles=PS)
    assert found == {
        "ps": [{"tensorflow": 20100, "ssh": 20200}, {"tensorflow": 20101, "ssh": 20201}],
        "worker": [{"tensorflow": 20102 + index, "ssh": 20202 + index} for index in range(3)],
    }
    shared = numbers(**TENSORFLOW, network={**HOST, "port": 20100}, ssh={"port": 20200}, roles=PS)
    assert shared == {role: [{"tensorflow": 20100, "ssh": 20200}] for role in PS}


def test_only_rank_0_opens_the_rendezvous() -> None:
    found = numbers(network=PER_REPLICA, roles={"worker": {"replicas": 3}})
    assert [sorted(ports) for ports in found["worker"]] == [["rendezvous"], [], []]


def test_host_ports() -> None:
    roles = {"watcher": WATCHER, "master": {"replicas": 1}, "worker": {"replicas": 3}}
    made = plan(network={**HOST, "port": 20001}, roles=roles)
    port = {"name": "rendezvous", "containerPort": 20001, "hostPort": 20001, "protocol": "TCP"}
    assert container(made, "master")["ports"] == [port]
    assert "ports" not in container(made, "worker") | container(made, "watcher")
    assert layout_of(experiment(network=HOST)).ports["worker"][0][0].host
    assert layout_of(experiment()).ports["worker"][0] == (Port("rendezvous", 29500, False),)


def test_a_port_of_the_node_is_the_declared_one() -> None:
    """The variable wins over the plan's, so the processes would open a port that nothing declares."""
    chosen = {**HOST, "port": 20001}
    assert reasons(network=chosen, env={"MASTER_PORT": "20001"}) == {}
    (reason,) = reasons(network=chosen, env={"MASTER_PORT": "4711"}).values()
    assert "the plan's is 20001: the processes would open another one" in reason
    secret = {"secret": {"name": "cluster", "key": "port"}}
    assert reasons(network=HOST, env={"MASTER_PORT": secret}).keys() == {"env.MASTER_PORT"}
    one = {"master": {"env": {"MASTER_PORT": "4711"}}, "worker": {}}
    assert reasons(network=HOST, roles=one).keys() == {"roles.master.env.MASTER_PORT"}
    cluster = {**TENSORFLOW, "roles": PS, "network": HOST, "env": {"TF_CONFIG": "{}"}}
    assert reasons(**cluster).keys() == {"env.TF_CONFIG"}
    assert reasons(backend="kubedl", network=chosen, roles={"worker": {}}, env={"MASTER_PORT": "20001"}).keys() == {
        "env.MASTER_PORT"
    }
    assert reasons(env={"MASTER_PORT": "4711"}) == {}, "on the pod network all ports are the pod's own"
    extra = {"worker": {}, "watcher": {**WATCHER, "env": {"MASTER_PORT": "4711"}}}
    assert reasons(network=HOST, roles=extra) == {}


SERVICE = {"addresses": "service"}


def test_a_port_behind_a_service_is_the_constant_one() -> None:
    """Nobody reaches another one; on the host network rank 0 opens another one than its peers call, and no number is
    both."""
    assert reasons(network=SERVICE, env={"MASTER_PORT": "4711"}).keys() == {"env.MASTER_PORT"}
    assert reasons(network=SERVICE, env={"MASTER_PORT": "29500"}) == {}
    assert reasons(network=SERVICE, env={"MASTER_PORT": "4711", "MASTER_ADDR": "10.0.0.7"}) == {}
    both = {**HOST, **SERVICE, "port": 20001}
    assert reasons(network=both, env={"MASTER_PORT": "20001"}).keys() == {"env.MASTER_PORT"} or (
        plan(network=both).rendezvous.port == plan(network=both).rendezvous.own_port
    )
    for number in {plan(network={**HOST, **SERVICE}).rendezvous.own_port, 29500}:
        assert reasons(network={**HOST, **SERVICE}, env={"MASTER_PORT": str(number)}).keys() == {"env.MASTER_PORT"}


OUTSIDE = "the port is outside the host ports of the environment (20000-20009)"


def test_borders_of_the_range() -> None:
    cluster = environment(ports="20000-20009")
    assert reasons(cluster, network={**HOST, "port": 20000}) == reasons(cluster, network={**HOST, "port": 20009}) == {}
    for outside in (1, 19999, 20010, 65535):
        assert reasons(cluster, network={**HOST, "port": outside}) == {"network.port": OUTSIDE}
        assert reasons(cluster, network=HOST, ssh={"port": outside}) == {"ssh.port": OUTSIDE}
    assert reasons(cluster, network={"port": 65535}, ssh={"port": 22}) == {}


def test_one_number_for_two_purposes() -> None:
    told = {"ssh.port": "the port is that of the launcher too (role worker)"}
    assert reasons(network={"port": 2222}, ssh={"port": 2222}) == told
    assert reasons(network={"port": 2222}, ssh={"port": 2223}) == {}
    assert reasons(ssh={"port": 29500}) == told
    assert reasons(network={**HOST, "port": 20001}, ssh={"port": 20001}) == told


def test_more_ports_than_the_range_has() -> None:
    """Two replicas with the same number could not share a node, which is what their own ports are for."""
    five = environment(ports="20000-20004")
    assert reasons(five, **TENSORFLOW, network=PER_REPLICA, roles=PS) == {}
    found = reasons(environment(ports="20000-20003"), **TENSORFLOW, network=PER_REPLICA, roles=PS)
    assert found == {"network.ports": "the pods need 5 ports; the environment has 4"}
    small = environment(ports="20000-20000")
    assert reasons(small, network=HOST) == {}
    assert reasons(small, network=HOST, ssh={}) == {"network.ports": "the pods need 2 ports; the environment has 1"}
