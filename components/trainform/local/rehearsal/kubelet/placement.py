"""Nodes, host names and names in DNS: under which names pods are found.

A sandbox is an idle container that owns the network of a pod.
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
    """A network with a host name, for one pod.

    name: the name of the pod. domain: what follows the host name in /etc/hosts, "" where nothing does.
    """

    name: str
    node: str
    hostname: str
    domain: str
    aliases: tuple[str, ...]


def place_pods(workload: Workload) -> dict[str, Sandbox]:
    """Return the sandbox of each pod by name. A pod on the host network has a node alone, and its host name."""
    sandboxes = {}
    for index, pod in enumerate(workload.pods):
        spec, name = pod["spec"], pod_name(pod)
        node = str(spec.get("nodeName", f"node-{index}"))
        subdomain = spec.get("subdomain", "")
        hostname, domain = spec.get("hostname", name), f"{subdomain}.{workload.namespace}.{DOMAIN}" if subdomain else ""
        if spec.get("hostNetwork"):
            hostname, domain = node, ""
        sandboxes[name] = Sandbox(name, node, hostname, domain, _aliases(pod, workload))
    return sandboxes


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
