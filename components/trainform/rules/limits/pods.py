"""Pods beyond the Pod Security Standards: types of volumes, containers that may run as root, service accounts."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import Place, places, volume_sources, volume_type
from trainform.rules.limits.pod_security import RUN_AS, below_a_folder, host_paths, join_places
from trainform.rules.limits.rule import Finding, not_allowed
from trainform.spec.environment import Environment

HOST_PATH = "hostPath"
LEVEL = "TF-POD-1"


def volumes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield volumes of a type that is not allowed, and host paths if the level `privileged` does not judge them."""
    limits = environment.limits
    forbidden = f"which the environment {environment.name} does not allow"
    for template in judged.templates:
        for place in volume_sources(template.body):
            if volume_type(place) not in (*limits.volume_types, HOST_PATH):
                reason = f"the type of a volume is {volume_type(place)}"
                fix = "use a claim, or ask the platform team for limits.volume_types"
                yield join_places([place], reason, forbidden, fix, template)
        for place in host_paths(template.body) if limits.pod_security == "privileged" else ():
            if not below_a_folder(place.value, tuple(limits.host_paths)):
                fix = "use a claim, or ask the platform team for limits.host_paths"
                yield join_places([place], "a volume is a path of the node", forbidden, fix, template)
    yield from _add_on_volumes(judged, environment)


def _add_on_volumes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield volumes that the operator mounts in the pods for a field of the job."""
    limits = environment.limits
    for add_on in judged.add_ons:
        on_node = add_on.volume == HOST_PATH
        is_open = add_on.volume in limits.volume_types
        if add_on.volume and not (below_a_folder(add_on.path, tuple(limits.host_paths)) if on_node else is_open):
            reason = (
                f"the operator mounts it in the pods as a volume of the type {add_on.volume}, which the environment "
                f"{environment.name} does not allow"
            )
            fix = f"ask the platform team for limits.{'host_paths' if on_node else 'volume_types'}"
            yield Finding(add_on.where, None, reason, fix, key=add_on.key, bound=[add_on.volume, add_on.path])


def runtime_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield runtime classes that the environment does not allow: they may give pods other devices, rights and nodes."""
    allowed = environment.limits.runtime_classes
    for template in judged.templates:
        name = template.spec.get("runtimeClassName")
        if name not in (None, "", *allowed):
            words = not_allowed("this runtime class", allowed, "runtime_classes", environment)
            yield Finding("spec.runtimeClassName", name, *words, template)


def root(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield containers that run as root, or whose image decides it, unless the level `restricted` reports them."""
    if _level_forbids_root(environment):
        return
    forbidden = f"which the environment {environment.name} forbids"
    for template in judged.templates:
        found = list(_as_root(template.body))
        if found:
            yield join_places(found, "a container may run as root", forbidden, RUN_AS, template)


def _level_forbids_root(environment: Environment) -> bool:
    """Return True if TF-POD-1 stops every container that may run as root: its findings may be warnings or waived."""
    limits = environment.limits
    always = limits.severity.get(LEVEL, "error") == "error" and LEVEL not in limits.waivable
    return limits.pod_security == "restricted" and always


def _as_root(body: object) -> Iterator[Place]:
    for user, non_root in zip(_context_fields(body, "runAsUser"), _context_fields(body, "runAsNonRoot"), strict=True):
        if user.value is None and non_root.value is not True:
            yield non_root
        elif user.value == 0:
            yield user


def _context_fields(body: object, field: str) -> list[Place]:
    """Return the field of each container's security context, or of the pod's if the container does not set it."""
    (of_pod,) = places(body, f"spec.securityContext.{field}")
    return [of_pod if own.value is None else own for own in places(body, f"spec.*.securityContext.{field}")]


FIELDS = ("serviceAccountName", "serviceAccount")
"""The second one is deprecated, and counts where the first one is empty."""
DEFAULT_ACCOUNT = "default"


def service_accounts(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield service accounts that the environment does not allow. Pods may always name `default`, or none."""
    allowed = [DEFAULT_ACCOUNT, *environment.limits.service_accounts]
    for template in judged.templates:
        field = next((field for field in FIELDS if template.spec.get(field)), None)
        if field is not None and template.spec[field] not in allowed:
            words = not_allowed("this service account", dict.fromkeys(allowed), "service_accounts", environment)
            yield Finding(f"spec.{field}", template.spec[field], *words, template)
