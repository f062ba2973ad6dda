"""Access to pods: the node's network, Services, and addresses outside the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import places
from trainform.rules.limits.rule import Finding, not_allowed
from trainform.spec.environment import Environment

# Fields of a Service with an address outside the cluster, each with the type that the environment must allow.
OUTSIDE = {"externalIPs": "LoadBalancer", "loadBalancerIP": "LoadBalancer", "externalName": "ExternalName"}


def host_network(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods in the node's network, or with host ports, if the environment does not allow them."""
    if environment.limits.host_network:
        return
    reason = f"the job uses the host network, which the environment {environment.name} forbids"
    fix = "remove it, or ask the platform team for limits.host_network"
    for template in judged.templates:
        (on_node,) = places(template.body, "spec.hostNetwork")
        if on_node.value not in (None, False):
            yield Finding(on_node.where, on_node.value, reason, fix, template)
            continue
        for port in places(template.body, "spec.*.ports[].hostPort"):
            if port.value not in (None, 0):
                yield Finding(port.where, port.value, reason, fix, template)


def services(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield Services whose type, or whose address outside the cluster, the environment does not allow."""
    allowed = environment.limits.service_types
    for key, body in judged.of_kind("Service"):
        spec = mapping(body.get("spec"))
        kind = spec["type"] if spec.get("type") else "ClusterIP"
        if kind not in allowed:
            words = not_allowed("this type of Service", allowed, "service_types", environment)
            yield Finding("spec.type", kind, *words, key=key)
        for field, needed in OUTSIDE.items():
            if spec.get(field) and needed not in allowed:
                reason = (
                    f"the Service has an address outside the cluster, which needs the type {needed} in the "
                    f"environment {environment.name}"
                )
                fix = "remove it, or ask the platform team for limits.service_types"
                yield Finding(f"spec.{field}", spec[field], reason, fix, key=key)
