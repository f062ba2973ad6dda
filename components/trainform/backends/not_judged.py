"""What some objects do beside their pods, for which no rule is made: it is told, since nobody would look for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainform.backends.pods import group_and_kind
from trainform.backends.volcano.pods import JOBS
from trainform.backends.workloads import value_at
from trainform.manifests.shapes import mapping, mappings

Told = Callable[[dict[str, Any]], Iterator[str]]


def not_judged(body: dict[str, Any]) -> Iterator[str]:
    """Each as a sentence without its end; nothing for most kinds."""
    for tell in KINDS.get(group_and_kind(body), ()):
        yield from tell(body)


def _always(sentence: str) -> tuple[Told, ...]:
    return (lambda _: iter([sentence]),)


def _scaled(most: str, target: str) -> tuple[Told, ...]:
    """An object that makes more pods of another one. most, target: the paths of their number and of the other object."""

    def tell(body: dict[str, Any]) -> Iterator[str]:
        other = mapping(value_at(body, target))
        name = f"{other.get('kind', 'Deployment')} {other.get('name')}"
        number = value_at(body, most)
        yield f"no rule counts the pods that it adds to {name} ({'no bound' if number is None else f'up to {number}'})"

    return (tell,)


def _claims(spec: str) -> tuple[Told, ...]:
    """The claims that a job with this path of its spec makes by itself."""

    def tell(body: dict[str, Any]) -> Iterator[str]:
        for index, volume in enumerate(mappings(value_at(body, f"{spec}.volumes"))):
            if volume.get("volumeClaim"):
                yield f"no rule judges the claim that {spec}.volumes[{index}].volumeClaim makes, which goes with the job"

    return (tell,)


_OUTSIDE = _always("no rule judges what it opens to the outside of the cluster")
_OTHERS = _always("no rule judges what it lets others do, or keeps them from: the platform team decides that")
_TOKENS = ("bootstrap.kubernetes.io/token", "kubernetes.io/service-account-token")


def _token(body: dict[str, Any]) -> Iterator[str]:
    """A Secret that opens the cluster to whoever reads it."""
    if body.get("type") in _TOKENS:
        yield "no rule judges the rights that its token gives to whoever reads it"


KINDS: Mapping[str, tuple[Told, ...]] = {
    "autoscaling/HorizontalPodAutoscaler": _scaled("spec.maxReplicas", "spec.scaleTargetRef"),
    "keda.sh/ScaledObject": _scaled("spec.maxReplicaCount", "spec.scaleTargetRef"),
    "networking.k8s.io/Ingress": _OUTSIDE,
    "gateway.networking.k8s.io/Gateway": _OUTSIDE,
    "gateway.networking.k8s.io/HTTPRoute": _OUTSIDE,
    "kueue.x-k8s.io/LocalQueue": _always("no rule judges which ClusterQueue it opens to its namespace"),
    "kueue.x-k8s.io/ClusterQueue": _always("no rule judges what it takes from other queues of the cluster"),
    "/Secret": (_token,),
    **dict.fromkeys(
        (
            "/Endpoints",
            "/LimitRange",
            "/Namespace",
            "/Node",
            "/ResourceQuota",
            "admissionregistration.k8s.io/MutatingAdmissionPolicy",
            "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
            "admissionregistration.k8s.io/MutatingWebhookConfiguration",
            "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
            "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
            "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
            "apiextensions.k8s.io/CustomResourceDefinition",
            "apiregistration.k8s.io/APIService",
            "certificates.k8s.io/CertificateSigningRequest",
            "discovery.k8s.io/EndpointSlice",
            "node.k8s.io/RuntimeClass",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
            "rbac.authorization.k8s.io/Role",
            "rbac.authorization.k8s.io/RoleBinding",
        ),
        _OTHERS,
    ),
    **{kind: _claims(spec) for kind, spec in JOBS.items()},
}
"""By `GROUP/KIND`."""
