"""Pods beyond the Pod Security Standards: the types of their volumes, and containers that may run as root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from trainform.errors import list_names
from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import Place, places, volume_sources, volume_type
from trainform.rules.limits.pod_security import RAW_RUN_AS, RUN_AS, below_a_folder, finding_of, host_paths
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment
from trainform.spec.limits import VolumeType

HOST_PATH = "hostPath"
LEVEL = "TF-POD-1"
REMOVE = "remove it"
# Fields of pods that Kubernetes, or a controller of the cluster, sets itself.
OF_KUBERNETES = {
    "metadata.finalizers": "no pod goes before somebody removes its finalizers, so its node stays taken",
    "metadata.ownerReferences": "the operator owns the pods, and deletes them with the job",
    "spec.ephemeralContainers": "such containers are added to a pod that runs, and the API server refuses them in a new one",
    "spec.overhead": "it is what the runtime class takes, which Kubernetes sets by the class",
    "spec.schedulingGates": "nobody opens the gate, so the pods, and the gang that waits for them, never start",
}
ON_NODE = (HOST_PATH, "local")
"""Types of volumes of the cluster that are paths of a node."""


def volumes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Volumes of other types than the environment allows, a finding for each. Paths of the node are judged here where
    no level of the standards does it."""
    limits = environment.limits
    forbidden = f"which the environment {environment.name} does not allow"
    for template in judged.templates:
        for place in volume_sources(template.body):
            if volume_type(place) not in (*limits.volume_types, HOST_PATH):
                reason = f"the type of a volume is {volume_type(place)}"
                fix = "use a claim, or ask the platform team for limits.volume_types"
                yield finding_of([place], reason, forbidden, fix, template)
        for place in host_paths(template.body) if limits.pod_security == "privileged" else ():
            if not below_a_folder(place.value, tuple(limits.host_paths)):
                fix = "use a claim, or ask the platform team for limits.host_paths"
                yield finding_of([place], "a volume is a path of the node", forbidden, fix, template)
    for key, body in judged.of_kind("PersistentVolume"):
        yield from _source(key, mapping(body.get("spec")), environment, forbidden)


def _source(key: str, spec: dict[str, Any], environment: Environment, forbidden: str) -> Iterator[Finding]:
    """What a volume of the cluster is made of, which pods reach by a claim."""
    limits = environment.limits
    for kind in ON_NODE:
        path = mapping(spec.get(kind)).get("path")
        if path is not None and not below_a_folder(path, tuple(limits.host_paths)):
            reason = f"the volume is a path of the node, {forbidden}"
            yield Finding(f"spec.{kind}.path", path, reason, "ask the platform team for limits.host_paths", key=key)
    for kind in get_args(VolumeType):
        if kind in spec and kind not in limits.volume_types:
            reason = f"the type of the volume is {kind}, {forbidden}"
            fix = "use a storage class of the environment, or ask the platform team for limits.volume_types"
            yield Finding(f"spec.{kind}", None, reason, fix, key=key, bound=spec[kind])


def runtime_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Runtime classes that the environment does not allow: a class may give pods other devices, rights and nodes."""
    allowed = environment.limits.runtime_classes
    for template in judged.templates:
        name = template.spec.get("runtimeClassName")
        if name not in (None, "", *allowed):
            listed = list_names(allowed) if allowed else "none"
            reason = f"the environment {environment.name} does not allow this runtime class (allowed: {listed})"
            fix = "remove it, or ask the platform team for limits.runtime_classes"
            yield Finding("spec.runtimeClassName", name, reason, fix, template)


def left_to_kubernetes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Fields of pods that somebody else than the author of a job sets."""
    for template in judged.templates:
        for path, reason in OF_KUBERNETES.items():
            for where, value in places(template.body, path):
                if value:
                    yield Finding(where, None, reason, REMOVE, template, bound=value)


def root(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Containers that run as root, or whose image decides it, where the level `restricted` does not find them."""
    if _level_forbids_root(environment):
        return
    forbidden = f"which the environment {environment.name} forbids"
    for template in judged.templates:
        found = list(_as_root(template.body))
        if found:
            yield finding_of(found, "a container may run as root", forbidden, RUN_AS, template, RAW_RUN_AS)


def _level_forbids_root(environment: Environment) -> bool:
    """Whether TF-POD-1 stops all of it. Where that is a warning or can be waived, what it finds may pass."""
    limits = environment.limits
    always = limits.severity.get(LEVEL, "error") == "error" and LEVEL not in limits.waivable
    return limits.pod_security == "restricted" and always


def _as_root(body: object) -> Iterator[Place]:
    for user, non_root in zip(_of_containers(body, "runAsUser"), _of_containers(body, "runAsNonRoot"), strict=True):
        if user.value is None and non_root.value is not True:
            yield non_root
        elif user.value == 0:
            yield user


def _of_containers(body: object, field: str) -> list[Place]:
    """The field of each container's security context, which takes precedence over that of the pod."""
    (of_pod,) = places(body, f"spec.securityContext.{field}")
    return [of_pod if own.value is None else own for own in places(body, f"spec.*.securityContext.{field}")]
