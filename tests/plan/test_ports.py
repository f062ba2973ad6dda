"""The rendezvous port: the usual one on the pod network, a stable one of the environment's range on the host network."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.generated_fields import names
from tests.samples import container, environment, experiment, plan, reasons
from trainform.plan.ports import rendezvous_port

HOST = {"host": True}


def test_on_the_pod_network() -> None:
    assert plan().rendezvous.port == 29500
    assert plan(network={"port": 2222}).rendezvous.port == 2222
    assert container(plan(), "worker")["ports"] == [{"name": "rendezvous", "containerPort": 29500, "protocol": "TCP"}]


@given(names, st.integers(1, 65535), st.integers(1, 65535))
def test_on_the_host_network_it_is_in_the_range_and_stable(name: str, one: int, other: int) -> None:
    first, last = min(one, other), max(one, other)
    cluster = environment(ports=f"{first}-{last}")
    found = rendezvous_port(experiment(name=name, network=HOST), cluster)
    assert first <= found <= last
    changed = experiment(name=name, network=HOST, image="python:3.13", roles={"worker": {"replicas": 8}})
    assert rendezvous_port(changed, cluster) == found


def test_experiments_spread_over_the_range() -> None:
    found = {rendezvous_port(experiment(name=f"run-{number}", network=HOST), environment()) for number in range(200)}
    assert len(found) > 190


def test_the_port_is_a_host_port_of_the_first_ranked_role_alone() -> None:
    roles = {"watcher": {"ranked": False, "command": ["python"]}, "master": {"replicas": 1}, "worker": {"replicas": 3}}
    made = plan(network={**HOST, "port": 20001}, roles=roles)
    port = {"name": "rendezvous", "containerPort": 20001, "hostPort": 20001, "protocol": "TCP"}
    assert container(made, "master")["ports"] == [port]
    assert "ports" not in container(made, "worker") | container(made, "watcher")


def test_borders_of_the_range() -> None:
    cluster = environment(ports="20000-20001")
    assert reasons(cluster, network={**HOST, "port": 20000}) == reasons(cluster, network={**HOST, "port": 20001}) == {}
    for outside in (1, 19999, 20002, 65535):
        assert "network.port" in reasons(cluster, network={**HOST, "port": outside})
    assert reasons(cluster, network={"port": 65535}) == {}
