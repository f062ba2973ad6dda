"""Objects of a job besides its pods: queues, priority classes, Services, claims, the end of jobs, their controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.errors import list_names
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.manifests.templates import Place, Template, places
from trainform.rules.limits.rule import ADD_ON, CACHE, Finding, Judged, Named, not_allowed
from trainform.spec.environment import Environment
from trainform.spec.quantities import seconds

GROUP = "scheduling.volcano.sh/"
VOLCANOS = (defaults.QUEUE, defaults.ROOT_QUEUE)
"""Queues that Volcano creates itself."""
ASK_WEIGHT = "write less, or ask the platform team for limits.max_queue_weight"


def allowed_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield queues that experiments may not name in this environment, each name once."""
    allowed = _allowed(judged, environment)
    if allowed is None:
        return
    found: set[str] = set()
    for named in judged.names:
        name = _queue(named, environment)
        if name is not None and name not in allowed and name not in found:
            found.add(name)
            words = not_allowed("this queue", allowed, "queues", environment)
            yield Finding(named.where, name, *words, named.template, named.key, everywhere=True)


def own_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield queues that an experiment may not bring, or change, in this environment."""
    limits = environment.limits
    for key, name, spec in queues_in(judged):
        if name in (*environment.queues, *VOLCANOS):
            # the environment's stack has these queues; `rules.references` reports such a name of the experiment's queue
            if name != judged.queue and judged.templates:
                reason = (
                    f"the queue belongs to the environment {environment.name} or to Volcano, and other jobs depend "
                    "on it"
                )
                yield Finding("metadata.name", name, reason, "choose another name", key=key)
            continue
        if not limits.own_queues:
            reason = f"the environment {environment.name} does not let experiments bring queues of their own"
            # a waiver of the queue is bound to its fields too
            yield Finding("metadata.name", name, reason, "name a queue of the environment", key=key, bound=[name, spec])
        weight = spec.get("weight")
        if limits.max_queue_weight is not None and isinstance(weight, int) and weight > limits.max_queue_weight:
            reason = f"the weight is more than the environment {environment.name} allows ({limits.max_queue_weight})"
            yield Finding("spec.weight", weight, reason, ASK_WEIGHT, key=key)


def _allowed(judged: Judged, environment: Environment) -> Mapping[str, None] | None:
    """Return the names that are allowed; None if the limits leave all of them open."""
    limits = environment.limits
    own = [name for _, name, _ in queues_in(judged) if limits.own_queues]
    if limits.queues is not None:
        return dict.fromkeys([*limits.queues, *own])
    if limits.own_queues or environment.admission == defaults.KUEUE:
        return None
    return dict.fromkeys([*environment.queues, defaults.QUEUE])


def _queue(named: Named, environment: Environment) -> str | None:
    """Return the name if it is of a queue of the environment's admission; otherwise None."""
    if named.what != "queue" or named.admission != environment.admission:
        return None
    return defaults.QUEUE if named.value is None else str(named.value)


def queues_in(judged: Judged) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield key, name and spec of each Volcano queue."""
    for key, body in judged.of_kind("Queue"):
        if str(body.get("apiVersion")).startswith(GROUP):
            yield key, str(mapping(body.get("metadata")).get("name")), mapping(body.get("spec"))


SYSTEM_PREFIX = "system-"


def priority_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield priority classes that the environment does not allow, and priorities without a class."""
    classes = [(template, template.spec.get("priorityClassName")) for template in judged.templates]
    for template, name in classes:
        yield from _class(Finding("spec.priorityClassName", name, "", "", template), environment)
        if template.spec.get("priority") is not None:
            reason = "the pods set a priority as a number, which only a priority class may give"
            fix = "remove it; write `priority_class`"
            yield Finding("spec.priority", template.spec["priority"], reason, fix, template)
    for named in judged.names:
        if named.what == "priority_class" and named.value not in [name for _, name in classes]:
            yield from _class(Finding(named.where, named.value, "", "", named.template, named.key), environment)


def _class(finding: Finding, environment: Environment) -> Iterator[Finding]:
    """Yield the finding, with reason and fix, if the environment does not allow the class."""
    if finding.value in (None, ""):
        return
    limits, own = environment.limits, environment.priority_classes
    allowed = limits.priority_classes if limits.priority_classes is not None else list(own) if own else None
    name = str(finding.value)
    if name not in allowed if allowed is not None else name.startswith(SYSTEM_PREFIX):
        listed = [f"any but {SYSTEM_PREFIX}…"] if allowed is None else allowed
        reason, fix = not_allowed("this priority class", listed, "priority_classes", environment)
        yield structs.replace(finding, reason=reason, fix=fix, everywhere=True)


# Fields of a Service with an address outside the cluster, each with the type that the environment must allow.
OUTSIDE = {"externalIPs": "LoadBalancer", "loadBalancerIP": "LoadBalancer", "externalName": "ExternalName"}


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


CLASS = "storageClassName"
NEW_CLAIM_FIELDS = ("accessModes", "resources", CLASS, "volumeMode")
# Paths of the specs of claims, by the kind of the object: Volcano's Job creates claims too.
CLAIMS = {
    CLAIM: ("spec",),
    "StatefulSet": ("spec.volumeClaimTemplates[].spec",),
    "Job": ("spec.volumes[].volumeClaim",),
}


def kept_claims(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield claims that are deleted with the experiment although its ranked pods write to them."""
    ranked = [each for each in judged.templates if judged.ranked is None or each.role in judged.ranked]
    written = {name for template in ranked for name in _written(template)}
    for key, body in judged.of_kind(CLAIM):
        if key not in judged.kept and str(mapping(body.get("metadata")).get("name")) in written:
            reason = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
            yield Finding("keep", False, reason, "write `keep: true`, or `read_only: true`", key=key)


def new_claims(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield new claims of a storage class that the environment does not offer, or with existing data."""
    classes = [*environment.storage_classes.values()]
    for key, template, (where, spec) in _new_claims(judged):
        name = mapping(spec).get(CLASS)
        if name is not None and name not in classes:
            listed = list_names(classes) if classes else "none"
            reason = f"the environment {environment.name} does not offer this storage class (it offers: {listed})"
            fix = "write a `class` of the environment, or ask the platform team for storage_classes"
            yield Finding(f"{where}.{CLASS}", name, reason, fix, template, key)
        for field, value in mapping(spec).items():
            if field not in NEW_CLAIM_FIELDS and value not in (None, ""):
                reason = "the field binds the claim to an existing volume or data, or to a class that no limit sees"
                fix = "remove it; name a claim that exists by `claim`"
                yield Finding(f"{where}.{field}", None, reason, fix, template, key, bound=value)


def _new_claims(judged: Judged) -> Iterator[tuple[str | None, Template | None, Place]]:
    """Yield the spec of each new claim, with the key of its object or the template of its pods."""
    for key, body in judged.objects.items():
        for path in CLAIMS.get(str(body.get("kind")), ()):
            yield from ((key, None, place) for place in places(body, path))
    for template in judged.templates:
        found = places(template.body, "spec.volumes[].ephemeral.volumeClaimTemplate.spec")
        yield from ((None, template, place) for place in found)


def _written(template: Template) -> Iterator[str]:
    """Yield the claims that a container of the pods mounts with write access."""
    mounts = [mount for _, container in template.containers for mount in mappings(container.get("volumeMounts"))]
    writable = [mount.get("name") for mount in mounts if not mount.get("readOnly")]
    for volume in template.volumes():
        source = mapping(volume.get("persistentVolumeClaim"))
        if volume.get("name") in writable and not source.get("readOnly"):
            yield str(source.get("claimName"))


DEADLINE = "activeDeadlineSeconds"
GRACE = "terminationGracePeriodSeconds"
FREE_GRACE = 30  # default of Kubernetes; not counted as run time
LONGEST_GRACE = 86_400


def deleted_after_end(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield jobs that stay in the cluster after their end, with their pods."""
    if judged.templates and not any(named.what == "ttl" for named in judged.names):
        reason = f"the job stays after its end, and the environment {environment.name} requires that it is deleted"
        yield Finding("spec.ttlSecondsAfterFinished", None, reason, "write `ttl: 24h`")


def run_time(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that may run longer than the environment allows, or take longer to end."""
    limit = environment.limits.max_run_time
    most = None if limit is None else seconds(str(limit))
    for template in judged.templates:
        longest = LONGEST_GRACE if most is None else max(FREE_GRACE, min(most, LONGEST_GRACE))
        given = template.spec.get(GRACE)  # the pods have it to end, also after their deadline
        grace = given if isinstance(given, int) else FREE_GRACE
        if grace > longest:
            reason = f"the pods may take longer to end than the environment {environment.name} allows ({longest} s)"
            yield Finding(f"spec.{GRACE}", grace, reason, f"write {longest}s or less as `grace_period`", template)
            continue
        deadline = _deadline(template)
        left = None if most is None else most - max(grace - FREE_GRACE, 0)
        if left is not None and (deadline is None or deadline > left):
            reason = f"the pods may run longer than the environment {environment.name} allows ({limit})"
            time = limit if left == most else f"{left}s"
            patch = "" if deadline is None else f", or {left} in a patch"
            yield Finding(
                f"spec.{DEADLINE}", deadline, reason, f"write `max_run_time: {time}` or less{patch}", template
            )


def _deadline(template: Template) -> int | None:
    """Return the seconds after which the pods end: the shorter deadline of pods and job, None without one."""
    given = [template.spec.get(DEADLINE), template.run_time]
    return min((each for each in given if isinstance(each, int)), default=None)


def other_managers(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield controllers of jobs other than the operator, caches and add-ons that the environment does not allow."""
    limits = environment.limits
    for named in judged.names:
        if named.what == "manager" and named.value not in limits.job_managers:
            reason = f"in the environment {environment.name} the operator runs the job, and not this controller"
            fix = "remove it, or ask the platform team for limits.job_managers"
            yield Finding(named.where, named.value, reason, fix, key=named.key)
        if named.what == ADD_ON or (named.what == CACHE and not limits.cache_backends):
            reason = (
                "the operator makes containers, pods or volumes of it, which no limit of the environment "
                f"{environment.name} counts"
            )
            limit = "cache_backends" if named.what == CACHE else "severity.TF-JOB-1"
            fix = f"remove it, or ask the platform team for limits.{limit}"
            yield Finding(named.where, None, reason, fix, named.template, named.key, bound=named.value)
