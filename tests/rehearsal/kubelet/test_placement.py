"""Nodes, host names and names in DNS; without Docker."""

from __future__ import annotations

from typing import Any

from tests.rehearsal.workloads import NAMESPACE, SERVICE, full_name, pod, workload
from trainform.rehearsal.kubelet.placement import place_pods


def on_host(name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    declared = [{"containerPort": port, "hostPort": port} for port in ports]
    return pod(name, hostNetwork=True, main={"ports": declared}, **spec)


def nodes(*pods: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {sandbox.node: sandbox.pods for sandbox in place_pods(workload(*pods))}


def test_a_pod_with_a_network_of_its_own() -> None:
    (sandbox,) = place_pods(workload(pod("worker-0")))
    name = full_name("worker-0")
    assert (sandbox.hostname, sandbox.domain) == (name, f"{SERVICE}.{NAMESPACE}.svc.cluster.local")
    assert {f"{name}.{SERVICE}", f"{name}.{SERVICE}.{NAMESPACE}.svc.cluster.local"} <= set(sandbox.aliases)
    assert f"{SERVICE}.{NAMESPACE}.svc.cluster.local" in sandbox.aliases
    assert name not in sandbox.aliases


def test_a_pod_without_a_host_name_or_service_has_no_name_in_dns() -> None:
    """A template without `hostname` has no name in DNS: a rehearsal must not be kinder than the cluster."""
    nameless, alone = pod("worker-0"), pod("worker-1")
    del nameless["spec"]["hostname"], alone["spec"]["subdomain"]
    for sandbox in place_pods(workload(nameless, alone)):
        assert not any(alias.startswith(f"{sandbox.name}.{SERVICE}") for alias in sandbox.aliases)


def test_a_headless_service_before_a_pod() -> None:
    """As operators make one for each pod: it is called like the pod, which has no subdomain."""
    one, other = pod("worker-0"), pod("worker-1")
    for index, each in enumerate((one, other)):
        del each["spec"]["subdomain"]
        each["metadata"]["labels"]["training.kubeflow.org/replica-index"] = str(index)
    selector = {"training.kubeflow.org/replica-index": "1"}
    service = {"metadata": {"name": full_name("worker-1")}, "spec": {"clusterIP": "None", "selector": selector}}
    found = {sandbox.name: sandbox.aliases for sandbox in place_pods(workload(one, other, services=(service,)))}
    name = f"{full_name('worker-1')}.{NAMESPACE}.svc.cluster.local"
    assert [name in aliases for aliases in found.values()] == [False, True]


def test_the_same_port_is_never_twice_on_a_node() -> None:
    made = nodes(on_host("worker-0", 20001), on_host("worker-1", 20001), on_host("worker-2", 20001, 20002))
    assert sorted(made.values()) == [(full_name("worker-0"),), (full_name("worker-1"),), (full_name("worker-2"),)]


def test_ports_that_differ_share_a_node() -> None:
    assert nodes(on_host("ps-0", 20001), on_host("worker-0", 20002), on_host("worker-1", 20001)) == {
        "node-0": (full_name("ps-0"), full_name("worker-0")),
        "node-1": (full_name("worker-1"),),
    }


def test_on_the_host_network_each_declared_port_is_the_nodes() -> None:
    pods = [pod(f"worker-{index}", hostNetwork=True, main={"ports": [{"containerPort": 29500}]}) for index in range(2)]
    assert len(nodes(*pods)) == 2


def test_another_protocol_is_another_port() -> None:
    udp = pod("worker-1", hostNetwork=True, main={"ports": [{"containerPort": 20001, "protocol": "UDP"}]})
    assert len(nodes(on_host("worker-0", 20001), udp)) == 1


def test_a_pod_that_has_a_node_stays_there() -> None:
    made = nodes(
        on_host("worker-0", 20001),
        on_host("worker-1", 20001, nodeName="gpu-node-7"),
        on_host("worker-2", 20002, nodeName="gpu-node-7"),
    )
    assert made == {"node-1": (full_name("worker-0"),), "gpu-node-7": (full_name("worker-1"), full_name("worker-2"))}


def test_a_nodes_sandbox() -> None:
    (sandbox,) = place_pods(workload(on_host("ps-0", 20001), on_host("worker-0", 20002)))
    assert (sandbox.hostname, sandbox.domain) == ("node-0", "")
    assert {f"{full_name(name)}.{SERVICE}" for name in ("ps-0", "worker-0")} <= set(sandbox.aliases)
    assert len(set(sandbox.aliases)) == len(sandbox.aliases)


def test_each_pod_with_a_network_of_its_own_has_a_node_of_its_own() -> None:
    assert len(nodes(pod("worker-0"), pod("worker-1"), on_host("worker-2", 20001))) == 3
