"""Nodes, host names and names in DNS: which pods share a network, and under which names they are found.

A sandbox is an idle container that owns the network of a pod, or of a node for pods on the host network.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from trainform.local.rehearsal.workload import Workload, pod_name, selects, service_is_headless

DOMAIN = "svc.cluster.local"
OWN_DOMAIN = (
    "pods.trainform"  # by names in it the forwarders of Services find pods, also after these got another address
)


class Sandbox(Struct, frozen=True):
    """A network with a host name, for a pod or a node.

    name: the name of the pod or node. domain: what follows the host name in /etc/hosts, "" where nothing does.
    """

    name: str
    node: str
    hostname: str
    domain: str
    aliases: tuple[str, ...]
    pods: tuple[str, ...]


def place_pods(workload: Workload) -> tuple[Sandbox, ...]:
    """Return a sandbox for each pod, and one for each node with pods on the host network."""
    nodes = _nodes(workload)
    sandboxes = []
    together: dict[str, list[dict[str, Any]]] = {}
    for pod in workload.pods:
        spec, name = pod["spec"], pod_name(pod)
        if uses_host_network(pod):
            together.setdefault(nodes[name], []).append(pod)
            continue
        subdomain = spec.get("subdomain", "")
        domain = f"{subdomain}.{workload.namespace}.{DOMAIN}" if subdomain else ""
        aliases = _aliases(pod, workload)
        sandboxes.append(Sandbox(name, nodes[name], spec.get("hostname", name), domain, aliases, (name,)))
    for node, pods in together.items():
        # they have the node's host name, and each is found under its own
        aliases = tuple(dict.fromkeys(alias for pod in pods for alias in _aliases(pod, workload)))
        sandboxes.append(Sandbox(node, node, node, "", aliases, tuple(map(pod_name, pods))))
    return tuple(sandboxes)


def uses_host_network(pod: dict[str, Any]) -> bool:
    """Return True if the pod uses its node's network."""
    return bool(pod["spec"].get("hostNetwork", False))


def own_alias(name: str) -> str:
    """Return a name of the pod that only the rehearsal uses."""
    return f"{name}.{OWN_DOMAIN}"


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Return the names of a Service in DNS: the whole name, to which the search domains lead from shorter ones, and the
    shorter ones for programs that do not use search domains."""
    return (f"{service}.{namespace}.{DOMAIN}", f"{service}.{namespace}.svc", f"{service}.{namespace}")


def search_domain(namespace: str) -> str:
    """Return the search domain of /etc/resolv.conf. Names under the other domains of Kubernetes are published as they
    are: Docker would pass unknown names to this machine's resolver."""
    return f"{namespace}.{DOMAIN}"


def _aliases(pod: dict[str, Any], workload: Workload) -> tuple[str, ...]:
    """Return the pod's names in DNS: those of its headless Services, and `<hostname>.<subdomain>`."""
    hostname, subdomain = pod["spec"].get("hostname"), pod["spec"].get("subdomain")
    headless = [service for service in workload.services if service_is_headless(service) and selects(service, pod)]
    names = [*([subdomain] if subdomain else []), *(service["metadata"]["name"] for service in headless)]
    aliases = [own_alias(pod_name(pod))]
    aliases += [alias for name in names for alias in service_names(name, workload.namespace)]
    if subdomain and hostname:
        service = service_names(subdomain, workload.namespace)
        aliases += [f"{hostname}.{subdomain}", *(f"{hostname}.{name}" for name in service)]
    return tuple(dict.fromkeys(aliases))


def _nodes(workload: Workload) -> dict[str, str]:
    """Return the node of each pod: the scheduler's choice, else the first node on which the pod's host ports are free.
    A pod with its own network gets its own node."""
    nodes = {pod_name(pod): pod["spec"]["nodeName"] for pod in workload.pods if pod["spec"].get("nodeName")}
    taken: dict[str, set[tuple[int, str]]] = {}
    for pod in workload.pods:
        if pod_name(pod) in nodes:
            taken.setdefault(nodes[pod_name(pod)], set()).update(host_ports(pod))
    for pod in workload.pods:
        name = pod_name(pod)
        if name in nodes:
            continue
        ports = host_ports(pod)
        if uses_host_network(pod):
            node = next((node for node, used in taken.items() if not used & ports), f"node-{len(taken)}")
            taken.setdefault(node, set()).update(ports)
            nodes[name] = node
        else:
            nodes[name] = f"node-of-{name}"
    return nodes


def host_ports(pod: dict[str, Any]) -> set[tuple[int, str]]:
    """Return the ports that the pod uses on its node; on the host network, every port that it declares."""
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]
    numbers = [(port.get("hostPort", port["containerPort"]), port.get("protocol", "TCP")) for port in ports]
    return set(numbers) if uses_host_network(pod) else set()
