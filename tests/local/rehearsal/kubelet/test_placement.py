"""Nodes, host names and names in DNS; without Docker."""

from __future__ import annotations

from typing import Any

from tests.local.rehearsal.workloads import SERVICE, full_name, pod, workload
from trainform.local.rehearsal.kubelet.placement import place_pods


def on_host(name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    declared = [{"containerPort": port, "hostPort": port} for port in ports]
    return pod(name, hostNetwork=True, main={"ports": declared}, **spec)


def nodes(*pods: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {sandbox.node: sandbox.pods for sandbox in place_pods(workload(*pods))}


def test_a_pod_without_a_host_name_or_service_has_no_name_in_dns() -> None:
    """A template without `hostname` has no name in DNS: a rehearsal must not be kinder than the cluster."""
    nameless, alone = pod("worker-0"), pod("worker-1")
    del nameless["spec"]["hostname"], alone["spec"]["subdomain"]
    for sandbox in place_pods(workload(nameless, alone)):
        assert not any(alias.startswith(f"{sandbox.name}.{SERVICE}") for alias in sandbox.aliases)


def test_the_same_port_is_never_twice_on_a_node() -> None:
    made = nodes(on_host("worker-0", 20001), on_host("worker-1", 20001), on_host("worker-2", 20001, 20002))
    assert sorted(made.values()) == [(full_name("worker-0"),), (full_name("worker-1"),), (full_name("worker-2"),)]
