"""Pod templates of the roles as they are rendered, with the user's merge patches applied: values and names in them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec import Struct

from trainform import defaults
from trainform.manifests.manifest import mapping, mappings, quantity

RESOURCE_FIELDS = ("requests", "limits")
DEFAULT_SCHEDULER = "default-scheduler"
CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")

APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


class Template(Struct, frozen=True, dict=True):
    """The pod template of one role, or of one replica that has a template of its own.

    body: metadata and spec. place: the template's path in an object (`spec.tasks.worker.template`); empty for a job
    that is rendered. scheduler, run_time: what the object around the template sets for pods that set nothing
    themselves: the name of a scheduler, and the seconds after which they end. drawn: the name of a port for which the
    operator draws a number for each pod; empty if there is none.
    """

    replicas: int
    min_available: int
    body: dict[str, Any]
    place: str = ""
    scheduler: str | None = None
    run_time: object = None
    drawn: str = ""

    @functools.cached_property
    def role(self) -> str:
        """Return the name of the role, from a label that merge patches must not change; the template's place if it has
        none."""
        return str(self.labels.get(defaults.ROLE_LABEL, self.place))

    @property
    def scheduled_by(self) -> str:
        """Return the name of the scheduler that places the pods."""
        return str(self.spec.get("schedulerName") or self.scheduler or DEFAULT_SCHEDULER)

    @property
    def labels(self) -> dict[str, Any]:
        """Return the labels of the pods."""
        return mapping(mapping(self.body.get("metadata")).get("labels"))

    @property
    def annotations(self) -> dict[str, str]:
        """Return the annotations of the pods."""
        return mapping(mapping(self.body.get("metadata")).get("annotations"))

    @functools.cached_property
    def spec(self) -> dict[str, Any]:
        """Return the spec of the pods."""
        return mapping(self.body.get("spec"))

    @property
    def path(self) -> str:
        """Return the path of the user's field that patches this template."""
        return f"roles.{self.role}.pod_overrides"

    @functools.cached_property
    def containers(self) -> tuple[tuple[int | None, dict[str, Any]], ...]:
        """Return each init container with its index, then each other container with None."""
        first, main = (mappings(self.spec.get(field)) for field in ("initContainers", "containers"))
        return (*enumerate(first), *((None, container) for container in main))

    @functools.cached_property
    def named_containers(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return each container of the pods with its path: `spec.containers.main`."""
        return tuple(
            (f"spec.{field}.{container.get('name', index)}", container)
            for field in CONTAINER_FIELDS
            for index, container in enumerate(mappings(self.spec.get(field)))
        )

    def node_ports(self) -> frozenset[str]:
        """Return the ports of its node that each of the pods takes while it runs, as `node_port` says them. A container
        that ends before the others start keeps none. Source: Kubernetes 1.34, pkg/scheduler/util (`GetHostPorts`)."""
        staying = (each for index, each in self.containers if index is None or each.get("restartPolicy") == "Always")
        ports = (port for container in staying for port in mappings(container.get("ports")))
        taken = (node_port(port, self.spec) for port in ports if not self.drawn or port.get("name") != self.drawn)
        return frozenset(port for port in taken if port)

    def volumes(self) -> list[dict[str, Any]]:
        """Return the volumes of the pods."""
        return mappings(self.spec.get("volumes"))

    @functools.cached_property
    def resources(self) -> frozenset[str]:
        """Return the names of all resources that the pods or their containers request."""
        holders = [self.spec, *(container for _, container in self.containers)]
        return frozenset(
            name for holder in holders for field in RESOURCE_FIELDS for name in resource_amounts(holder, field)
        )

    def pod_request(self, resource: str) -> Decimal:
        """Return the amount of the resource that the scheduler counts for each pod: what its containers request, or the
        pod as a whole if that is more."""
        if resource not in self._requests:
            self._requests[resource] = max(self.containers_request(resource), _request(self.spec, resource))
        return self._requests[resource]

    @functools.cached_property
    def _requests(self) -> dict[str, Decimal]:
        """Return the results of `pod_request`, which many rules read."""
        return {}

    def containers_request(self, resource: str) -> Decimal:
        """Return the amount of the resource that the containers request together, or an init container if it requests
        more. A sidecar, an init container that always restarts, runs next to all containers after it. An amount that
        cannot be read counts as 0."""
        sidecars = highest = containers = Decimal(0)
        for index, container in self.containers:
            requested = _request(container, resource)
            if index is None:
                containers += requested
            elif container.get("restartPolicy") == "Always":
                sidecars += requested
                highest = max(highest, sidecars)
            else:
                highest = max(highest, sidecars + requested)
        return max(highest, sidecars + containers)


def resource_amounts(holder: dict[str, Any], field: str) -> dict[str, Any]:
    """Return the requests or limits (`field`) of a container or of a pod as a whole."""
    return mapping(mapping(holder.get("resources")).get(field))


def node_port(port: dict[str, Any], spec: dict[str, Any]) -> str:
    """Return the port of the node that a container's port takes, with its protocol, and with its address if it is of
    one alone: `9100/TCP`. Empty if it takes none. On the host network every port is one of the node: the API server
    fills `hostPort` in (pkg/apis/core/v1/defaults.go)."""
    number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else None)
    address = port.get("hostIP")
    where = "" if address in (None, "", "0.0.0.0") else f" of {address}"  # noqa: S104 -- any address of the node
    return f"{number}/{port.get('protocol', 'TCP')}{where}" if number else ""


def is_extended(resource: object) -> bool:
    """Return whether a device or a plugin of the nodes gives the resource: it has a domain. Kubernetes' own domain is
    one of them: the scheduler counts such resources too, and `deviceclass.resource.kubernetes.io/NAME` claims
    devices."""
    return "/" in str(resource)


def _request(holder: dict[str, Any], resource: str) -> Decimal:
    """Return the request; without one the limit, which Kubernetes then takes for it. Of an extended resource, whose two
    must be the same, the larger."""
    given = [resource_amounts(holder, field).get(resource) for field in RESOURCE_FIELDS]
    counted = [value for value in given if value is not None]
    read = [quantity(value) for value in (counted if is_extended(resource) else counted[:1])]
    return max((each for each in read if each is not None), default=Decimal(0))


ANY_CONTAINER = "*"
ITEMS = "[]"


class Place(NamedTuple):
    """A path in a pod template, with items by name, and the value there; None if there is none."""

    where: str
    value: Any


def places(body: object, path: str) -> Iterator[Place]:
    """Yield the places of a path: one for `spec.hostPID`, even without a value, one for each container of any kind for
    `spec.*.image`, and one for each volume for `spec.volumes[].nfs`."""
    return _places(body, path.split("."), "")


def _places(value: Any, steps: list[str], where: str) -> Iterator[Place]:
    for number, step in enumerate(steps, 1):
        if step == ANY_CONTAINER:
            for field in CONTAINER_FIELDS:
                yield from _places(value, [f"{field}{ITEMS}", *steps[number:]], where)
            return
        key = step.removesuffix(ITEMS)
        where = f"{where}.{key}" if where else key
        value = value.get(key) if isinstance(value, dict) else None
        if key != step:
            # a value that is not a list counts as an item, so that it is judged too
            for item in value if isinstance(value, list) else [] if value is None else [value]:
                name = item.get("name") if isinstance(item, dict) else None
                yield from _places(item, steps[number:], where if name is None else f"{where}.{name}")
            return
    yield Place(where, value)


def volume_sources(body: object) -> Iterator[Place]:
    """Yield the source of each volume: `spec.volumes.data.nfs` with the content. See `volume_type`."""
    for where, volume in places(body, f"spec.volumes{ITEMS}"):
        for key, source in volume.items() if isinstance(volume, dict) else ():
            if key != "name" and source is not None:
                yield Place(f"{where}.{key}", source)


def volume_type(place: Place) -> str:
    """Return the type of the volume at a place of `volume_sources`."""
    return place.where.rpartition(".")[2]


def distinct(found: Iterable[Place]) -> list[Place]:
    """Return each place once: containers share the fields of their pod, and items without names their path."""
    return list({(place.where, repr(place.value)): place for place in found}.values())


_VOLUMES = {"configMap": "ConfigMap", "secret": "Secret", "persistentVolumeClaim": "PersistentVolumeClaim"}
_VARIABLES = {
    "configMapKeyRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "configMapRef": "ConfigMap",
    "secretRef": "Secret",
}
_NAMES = ("secretName", "claimName", "name")


class NamedObject(NamedTuple):
    """An object that a pod names. keys: the entries that it reads; empty if it reads all of them. place: the field that
    names it, by names. as_files: the pod mounts it."""

    kind: str
    name: str
    keys: tuple[str, ...]
    place: tuple[str, ...]
    optional: bool
    as_files: bool


def named_objects(spec: Mapping[str, Any]) -> Iterator[NamedObject]:
    """Yield the objects that the spec of a pod names."""
    for field in CONTAINER_FIELDS:
        for container in mappings(spec.get(field)):
            above = ("spec", field, str(container.get("name")))
            for variable in mappings(container.get("env")):
                yield from _named(variable.get("valueFrom"), _VARIABLES, (*above, "env", str(variable.get("name"))))
            for source in mappings(container.get("envFrom")):
                yield from _named(source, _VARIABLES, (*above, "envFrom"))
    for volume in mappings(spec.get("volumes")):
        for source in (volume, *mappings(mapping(volume.get("projected")).get("sources"))):
            yield from _named(source, _VOLUMES, ("spec", "volumes", str(volume.get("name"))))


def _named(source: Any, kinds: Mapping[str, str], place: tuple[str, ...]) -> Iterator[NamedObject]:
    for field, kind in kinds.items():
        named = mapping(mapping(source).get(field))
        name = next((named[word] for word in _NAMES if named.get(word)), None)
        if isinstance(name, str):
            keys = tuple(str(item["key"]) for item in (named, *mappings(named.get("items"))) if item.get("key"))
            yield NamedObject(kind, name, keys, place, bool(named.get("optional")), kinds is _VOLUMES)
