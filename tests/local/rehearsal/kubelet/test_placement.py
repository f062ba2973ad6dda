"""Nodes, host names and names in DNS; without Docker."""

from __future__ import annotations

from tests.local.rehearsal.workloads import SERVICE, pod, workload
from trainform.local.rehearsal.kubelet.placement import place_pods


def test_a_pod_without_a_host_name_or_service_has_no_name_in_dns() -> None:
    """A template without `hostname` has no name in DNS: a rehearsal must not be kinder than the cluster."""
    nameless, alone = pod("worker-0"), pod("worker-1")
    del nameless["spec"]["hostname"], alone["spec"]["subdomain"]
    for sandbox in place_pods(workload(nameless, alone)).values():
        assert not any(alias.startswith(f"{sandbox.name}.{SERVICE}") for alias in sandbox.aliases)


def test_a_pod_on_the_host_network_has_the_name_of_its_node() -> None:
    placed, new = pod("worker-0", hostNetwork=True, nodeName="gpu-7"), pod("worker-1", hostNetwork=True)
    made = place_pods(workload(placed, new))
    assert [(each.node, each.hostname, each.domain) for each in made.values()] == [
        ("gpu-7", "gpu-7", ""),
        ("node-1", "node-1", ""),
    ]
