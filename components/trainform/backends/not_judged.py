"""What some objects do beside their pods, for which no rule is made: it is told, since nobody would look for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainform.backends.pods import group_and_kind
from trainform.backends.volcano.pods import JOBS
from trainform.backends.workloads import value_at
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template

Told = Callable[[dict[str, Any]], Iterator[str]]
POD_PATCH = "podSpecPatch"
_ALL_OF = {"configMapRef": "ConfigMap", "secretRef": "Secret"}


class Taken(NamedTuple):
    """The place of a container's variables in its pod, and the object from which they come."""

    where: str
    kind: str
    name: str


def not_judged(body: dict[str, Any]) -> Iterator[str]:
    """Each as a sentence without its end; nothing for most kinds."""
    for tell in KINDS.get(group_and_kind(body), ()):
        yield from tell(body)
    yield from _patches(body, "")


def taken(template: Template) -> Iterator[Taken]:
    """The objects from which the pods take variables whose values no rule sees. A single entry of a Secret is where secrets belong."""
    for where, container in template.named_containers():
        for source in mappings(container.get("envFrom")):
            for field, kind in _ALL_OF.items():
                if field in source:
                    yield Taken(f"{where}.envFrom", kind, str(mapping(source[field]).get("name")))
        for variable in mappings(container.get("env")):
            reference = value_at(variable, "valueFrom.configMapKeyRef")
            if reference is not None:
                yield Taken(f"{where}.env.{variable.get('name')}", "ConfigMap", str(mapping(reference).get("name")))


def not_seen(templates: Iterable[Template], objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is told of the pods of a job: the objects that they take variables from, and that are none of the job's."""
    own = {(body.get("kind"), mapping(body.get("metadata")).get("name")) for body in objects}
    places: dict[tuple[str, str], dict[str, None]] = {}
    for template in templates:
        for each in taken(template):
            places.setdefault((each.kind, each.name), {})[f"{template.role} ({each.where})"] = None
    for (kind, name), found in places.items():
        if (kind, name) not in own:
            yield (
                f"{kind} {name}: the environment's limits do not see the variables that pods take from it: {', '.join(found)}; write them in `env` to have "
                "them judged"
            )


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


def _patches(value: Any, path: str) -> Iterator[str]:
    """Patches of pods as text, in an object of any kind: Argo's Workflows have them beside each template. What a preview does not know is left out."""
    if isinstance(value, dict):
        inside = [(str(key), dict.get(value, key)) for key in dict.keys(value)]
    elif isinstance(value, list):
        inside = [(str(index), list.__getitem__(value, index)) for index in range(len(value))]
    else:
        return
    for key, item in inside:
        where = f"{path}.{key}" if path else key
        if key == POD_PATCH and item:
            yield f"no rule judges the patch of pods that {where} is"
        else:
            yield from _patches(item, where)


_OUTSIDE = _always("no rule judges what it opens to the outside of the cluster")
_OTHERS = _always("no rule judges what it lets others do, or keeps them from: the platform team decides that")
_MADE = _always("no rule sees the objects that are made from what it names")
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
    "bus.volcano.sh/Command": _always("no rule judges which job or queue it ends, stops or opens"),
    "/Binding": _always("no rule judges which node it chooses for a pod"),
    "/Secret": (_token,),
    **dict.fromkeys(
        (
            "argoproj.io/Application",
            "argoproj.io/ApplicationSet",
            "helm.cattle.io/HelmChart",
            "helm.toolkit.fluxcd.io/HelmRelease",
            "kustomize.toolkit.fluxcd.io/Kustomization",
        ),
        _MADE,
    ),
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
