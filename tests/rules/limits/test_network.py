"""How pods are reached."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw

HOST_NETWORK = "the job uses the host network, which the environment dev forbids"


def test_host_network_by_field() -> None:
    assert found("TF-NET-1", limited(), network={"host": True}) == {"network.host": HOST_NETWORK}
    assert found("TF-NET-1", limited(host_network=True), network={"host": True}) == {}


def test_host_network_in_patches() -> None:
    spec: dict[str, Any] = {"hostNetwork": True}
    for judge in (by_role, by_job):
        assert set(judge("TF-NET-1", limited(), {"spec": spec}).values()) == {HOST_NETWORK}
        assert judge("TF-NET-1", limited(host_network=True), {"spec": spec}) == {}
    ports = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    assert set(raw("TF-NET-1", limited(), {}, pod(ports)).values()) == {HOST_NETWORK}


def test_ports_of_containers_alone_are_not_of_the_node() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 0}, "text", None]
    assert raw("TF-NET-1", limited(), {}, pod({"containers": [{"ports": ports}, None, "text"]})) == {}


def service(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "board"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "where", "type_"),
    [
        ({"type": "NodePort"}, "spec.type", "NodePort"),
        ({"type": "LoadBalancer"}, "spec.type", "LoadBalancer"),
        ({"externalIPs": ["192.0.2.1"]}, "spec.externalIPs", "LoadBalancer"),
        ({"loadBalancerIP": "192.0.2.1"}, "spec.loadBalancerIP", "LoadBalancer"),
        ({"externalName": "example.com"}, "spec.externalName", "ExternalName"),
    ],
)
def test_services(spec: dict[str, Any], where: str, type_: str) -> None:
    opened = limited(service_types=["ClusterIP", type_])
    assert raw("TF-NET-2", limited(), service(spec)).keys() == {where}
    assert raw("TF-NET-2", opened, service(spec)) == {}
    patch = {"service": {"spec": spec}}
    assert found("TF-NET-2", limited(), manifest_overrides=patch).keys() == {f"manifest_overrides.service.{where}"}
    assert found("TF-NET-2", opened, manifest_overrides=patch) == {}


@pytest.mark.parametrize("spec", [{}, {"type": "ClusterIP"}, {"externalIPs": []}, None, "text"])
def test_usual_services(spec: Any) -> None:
    assert raw("TF-NET-2", limited(), service(spec)) == {}
    assert raw("TF-NET-2", limited(service_types=["NodePort"]), service(spec)).keys() == {"spec.type"}
