"""The leaves that the plan owns in rendered objects. A merge patch changes everything else, within the environment's
limits.

The plan owns identity, the labels and selectors that trainform reads, the scheduler and the gang, the size of the world
and its variables, the names under which pods find each other, and the files, ports and mounts of the launch. With
another value there the plan is untrue: ranks, addresses, accelerators and cost are computed from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.backend import Place
from trainform.backends.support import is_one_of
from trainform.manifests.manifest import CLAIM, Manifest, mapping, mappings, quantity
from trainform.manifests.templates import Template, resource_amounts
from trainform.rules.experiment import OWN_LABELS, reserved

NO_FIELD = ""
REPLICAS, LEAST, LAUNCHER = "roles.*.replicas", "roles.*.min_available", "launcher"
ROLES = "roles"  # of a group of pods as a whole

OBJECT_FIELDS: Mapping[str, str] = {
    # identity, and when the object is deleted
    **dict.fromkeys(("apiVersion", "kind", "generateName", "finalizers", "ownerReferences"), NO_FIELD),
    "runtimeRef": "runtime",
    # scheduler and gang
    "schedulerName": NO_FIELD,
    "queue": "queue",
    **dict.fromkeys(("minAvailable", "minMember", "minTaskMember"), LEAST),
    **dict.fromkeys(("networkTopology", "podGroupPolicy"), "network.topology"),
    **dict.fromkeys(("priorityClassName", "priorityClass"), "priority_class"),
    "ttlSecondsAfterFinished": "ttl",
    # size of the world, and what the operator computes from it
    **dict.fromkeys(("replicas", "parallelism", "completions", "numNodes"), REPLICAS),
    "elasticPolicy": "launcher.torchrun.elastic",
    **dict.fromkeys(("numProcPerNode", "nprocPerNode", "slotsPerWorker"), LAUNCHER),
    **dict.fromkeys(("plugins.pytorch", "plugins.tensorflow", "plugins.mpi"), NO_FIELD),
    **dict.fromkeys(("completionMode", "mlPolicy", "mainContainer", "cronPolicy"), NO_FIELD),
    **dict.fromkeys(("runLauncherAsWorker", "sshAuthMountPath", "launcherCreationPolicy"), NO_FIELD),
    # names in DNS: of a JobSet, of Volcano's plugin, of a Service
    **dict.fromkeys(("network", "plugins.svc", "selector", "clusterIP", "publishNotReadyAddresses"), NO_FIELD),
    "spec.type": NO_FIELD,
    # claims
    "spec.resources": "storage.*.size",
    **dict.fromkeys(("accessModes", "volumeMode"), NO_FIELD),
    # the container that a TrainJob configures
    **dict.fromkeys(("trainer.command", "trainer.args"), LAUNCHER),
    "trainer.env": "env",
    "restartPolicy": "roles.*.restart",
    "trainer.resourcesPerNode": "roles.*.accelerators",
}
"""Fields of objects outside of pod templates, at any depth, by name or with the name above: the experiment's field, if
there is one."""

_FREE = frozenset(["metrics"])  # of an elastic policy
_KEPT_PARTS = frozenset(["labels", "annotations", "data", "ports"])  # a patch may add to these
SECRET_FIELDS = ("data", "stringData", "type", "immutable")

POD_FIELDS: dict[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "hostNetwork": False,
    "hostname": None,
    "nodeName": None,
    "restartPolicy": "Always",
    "schedulerName": None,
    "setHostnameAsFQDN": False,
    "subdomain": None,
}
"""Fields of a pod's spec, each with the default of Kubernetes."""

CONTAINER_DEFAULTS: Mapping[str, Any] = {"args": [], "command": []}
"""Fields of the containers that the plan renders, with their defaults."""

_CONTAINERS = ("initContainers", "containers")
_CLAIM = "persistentVolumeClaim"
# Annotations that choose class and node of a claim.
_OF_STORAGE = ("volume.kubernetes.io/", "volume.beta.kubernetes.io/")


class Change(Struct, frozen=True):
    """A place that the plan owns, and that a merge patch changes. role: empty outside of pods. by_operator: the
    operator sets the place itself."""

    place: Place
    before: Any
    after: Any
    role: str = ""
    field: str = NO_FIELD
    by_operator: bool = False
    is_secret: bool = False

    @property
    def is_readable(self) -> bool:
        """Return True if the environment's limits can still judge the patched object."""
        is_identity = self.place[-1] in ("apiVersion", "kind") or "labels" in self.place or "annotations" in self.place
        if is_identity or self.field == ROLES:
            return False
        if "resources" in self.place and isinstance(self.after, int):
            return True
        return isinstance(self.after, str | bool) and isinstance(self.before, str | bool | None)


class OwnedOfPods(Struct, frozen=True):
    """The leaves that the plan owns in the pods of a role beyond `POD_FIELDS`.

    variables: of the launch contract. by_operator: variables, labels and annotations that the operator sets in every
    pod. storage: volumes of the experiment, whose claim and place a patch may change. devices: resources that the
    plan counts as accelerators. scheduler: of pods that name none.
    """

    variables: frozenset[str]
    by_operator: frozenset[str]
    storage: frozenset[str]
    devices: frozenset[str]
    scheduler: str


def object_changes(manifest: Manifest, patched: dict[str, Any], reads: Collection[str]) -> Iterator[Change]:
    """Yield what a merge patch changes of an object outside of its pods. reads: labels and annotations that the
    operator reads."""
    rendered = manifest.body
    is_queue = rendered["kind"] == "Queue"  # of the experiment: limits judge what it asks for
    hidden: dict[str, Any] = {"metadata": {}, **({"spec": {}} if is_queue else {})}
    yield from _changes(rendered | hidden, patched | hidden, (), "")
    for name in ("name", "namespace", "generateName", "finalizers", "ownerReferences"):
        before, after = (mapping(body.get("metadata")).get(name) for body in (rendered, patched))
        if before != after:
            yield Change(("metadata", name), before, after)
    of_kind = _OF_STORAGE if rendered["kind"] == CLAIM else ()
    yield from _metadata_changes((), rendered, patched, {*reads, *of_kind})
    for place, template in pod_templates(rendered):
        yield from _metadata_changes(place, template, mapping(value_at(patched, place)), ())


def pod_templates(body: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each pod template in an object with its place."""
    if is_template(body):
        yield place, body
        return
    for name, item in (_items(body) or {}).items():
        yield from pod_templates(item, (*place, name))


def is_template(value: Any) -> bool:
    """Return whether the value is metadata and spec of pods."""
    return isinstance(value, dict) and isinstance(mapping(value.get("spec")).get("containers"), list)


def value_at(body: Any, place: Place) -> Any:
    """Return what stands at the place; None if nothing does."""
    for name in place:
        body = (_items(body) or {}).get(name)
    return body


def pod_changes(role: str, before: Mapping[str, Any], after: Mapping[str, Any], owned: OwnedOfPods) -> Iterator[Change]:
    """Yield what a merge patch changes of the plan in the pod template of a role. Both have the shape of a pod
    template."""
    for place, old, new in _pod_values(before, after, owned):
        if old != new:
            name = place[-1]
            by_operator = "env" in place and name in owned.by_operator and old is None
            yield Change(place, old, new, role, by_operator=by_operator)
    yield from _metadata_changes((), before, after, owned.by_operator, role)


def _changes(before: Any, after: Any, place: Place, owned: str) -> Iterator[Change]:
    """owned: the entry of `OBJECT_FIELDS` at this place or above it; empty if there is none."""
    if before == after or (is_template(before) and is_template(after)):
        return
    olds, news = _items(before), _items(after)
    if (olds is None and before is not None) or news is None:
        if owned or place[-1] in _KEPT_PARTS or _holds_owned(before, place):
            yield Change(place, before, after, field=OBJECT_FIELDS.get(owned, NO_FIELD))
        return
    if before is None and owned and not news:
        yield Change(place, None, after, field=OBJECT_FIELDS[owned])
    olds = {} if olds is None else olds
    has_groups = bool(place) and _has_pods(before) and (isinstance(before, list) or place[-1].endswith("ReplicaSpecs"))
    for name in {**olds, **news}:
        where, old, new = (*place, name), olds.get(name), news.get(name)
        if has_groups and (old is None or _has_pods(old) != _has_pods(new)):
            yield Change(where, old, new, field=ROLES)
        elif place[-1:] and place[-1] in _KEPT_PARTS:
            if old is not None and old != new:
                yield Change(where, old, new)
        else:
            is_free = name in _FREE and before is not None
            yield from _changes(old, new, where, "" if is_free else owned or _entry(where, isinstance(after, dict)))


def _entry(place: Place, is_field: bool) -> str:
    """Return the entry of `OBJECT_FIELDS` for a place; empty if there is none. is_field: it is no item of a list."""
    names = (place[-1], ".".join(place[-2:])) if is_field else ()
    return next((name for name in names if name in OBJECT_FIELDS), "")


def _has_pods(value: Any) -> bool:
    return any(True for _ in pod_templates(value))


def _holds_owned(value: Any, place: Place) -> bool:
    """Return whether the plan owns something in the value, which a patch removes or replaces as a whole."""
    items = {(*place, name): item for name, item in (_items(value) or {}).items()}
    is_owned = any(_entry(where, True) or where[-1] in _KEPT_PARTS for where in items)
    return is_owned or is_template(value) or any(_holds_owned(item, where) for where, item in items.items())


def _metadata_changes(
    place: Place, before: Mapping[str, Any], after: Mapping[str, Any], reads: Collection[str], role: str = ""
) -> Iterator[Change]:
    """Yield the labels and annotations that a patch changes, and those that trainform or the operator sets itself."""
    for field in ("labels", "annotations"):
        olds, news = (mapping(mapping(each.get("metadata")).get(field)) for each in (before, after))
        for key in {**olds, **news}:
            is_own = key in OWN_LABELS or reserved(key) is not None or is_one_of(key, reads)
            if olds.get(key) != news.get(key) and (key in olds or is_own):
                by_operator = is_one_of(key, reads) and key not in olds
                yield Change(
                    (*place, "metadata", field, key), olds.get(key), news.get(key), role, by_operator=by_operator
                )


_Values = Iterator[tuple[Place, Any, Any]]


def _pod_values(before: Mapping[str, Any], after: Mapping[str, Any], owned: OwnedOfPods) -> _Values:
    specs = before["spec"], after["spec"]
    for field, default in (POD_FIELDS | {"schedulerName": owned.scheduler}).items():
        yield ("spec", field), specs[0].get(field, default), specs[1].get(field, default)
    yield from _amounts(before, after, owned.devices)
    volumes = [_by_name(spec.get("volumes", ())) for spec in specs]
    for name, volume in volumes[0].items():
        old, new = volume, volumes[1].get(name)
        if name in owned.storage:  # another claim is possible: a review tells what becomes of the data
            old, new = (mapping(each).get(_CLAIM) is not None for each in (old, new))
        yield ("spec", "volumes", name), old, new
    for kind in _CONTAINERS:
        olds, news = (_by_name(spec.get(kind, ())) for spec in specs)
        for name, container in olds.items():
            place = ("spec", kind, name)
            if name in news:
                yield from _container_values(place, container, news[name], owned)
            else:
                yield place, container, None


def _container_values(place: Place, before: dict[str, Any], after: dict[str, Any], owned: OwnedOfPods) -> _Values:
    for field, default in CONTAINER_DEFAULTS.items():
        yield (*place, field), before.get(field, default), after.get(field, default)
    added = [] if before.get("env") == after.get("env") else sorted(owned.variables | owned.by_operator)
    for field, more in (("ports", []), ("env", added)):
        olds, news = (_by_name(each.get(field, ())) for each in (before, after))
        for name in dict.fromkeys([*olds, *more]):
            yield (*place, field, name), olds.get(name), news.get(name)
    olds, news = (_by_name(each.get("volumeMounts", ()), "mountPath") for each in (before, after))
    mounted = {mount["name"] for mount in news.values()}
    for path, mount in olds.items():
        name = mount["name"]
        old, new = (True, name in mounted) if name in owned.storage else (mount, news.get(path))
        yield (*place, "volumeMounts", name), old, new


def _amounts(before: Mapping[str, Any], after: Mapping[str, Any], devices: Collection[str]) -> _Values:
    """Yield the limits of the plan's containers, and accelerators anywhere in the pod. An init container may use those
    that the pod has anyway."""
    was, now = Template(1, 1, {**before}), Template(1, 1, {**after})
    olds, news = (
        {place: resource_amounts(container, "limits") for place, container in pod.named_containers}
        for pod in (was, now)
    )
    more = [each for each in devices if was.pod_request(each) != now.pod_request(each)]
    for place, limits in news.items():
        for resource in dict.fromkeys([*olds.get(place, ()), *(each for each in more if each in limits)]):
            old, new = olds.get(place, {}).get(resource), limits.get(resource)
            if quantity(old) != quantity(new):
                yield (*place.split(".", 2), "resources", "limits", resource), old, new


def _by_name(items: Any, key: str = "name") -> dict[str, Any]:
    return {str(item.get(key, item.get("containerPort"))): item for item in mappings(items)}


def _items(value: Any) -> dict[str, Any] | None:
    """Return a mapping, or a list of mappings by their names or else their indices; None for anything else."""
    if isinstance(value, dict):
        return value
    if not (isinstance(value, list) and value and all(isinstance(item, dict) for item in value)):
        return None
    names = [item.get("name") for item in value]
    are_unique = all(isinstance(name, str) for name in names) and len({*names}) == len(names)
    return {str(names[index] if are_unique else index): item for index, item in enumerate(value)}
