"""What the plan says of a pod: its names, its place, what starts in it, and when it starts again. Of all else a merge patch may make what it
wants; the environment's rules judge that."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.backends.patch_places import as_mapping
from trainform.backends.patched_objects import difference
from trainform.backends.paths import Place
from trainform.manifests.env import KEPT_PREFIX, PodConventions
from trainform.manifests.shapes import mappings, quantity
from trainform.manifests.templates import Template, resource_amounts
from trainform.plan.launch.launch import SCRIPT_VARIABLES
from trainform.plan.model import Plan
from trainform.plan.references import expanded
from trainform.plan.variables import VARIABLES
from trainform.spec.environment import Environment

POD_FIELDS: Mapping[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "hostNetwork": False,
    "hostname": None,
    "hostnameOverride": None,
    "nodeName": None,
    "readinessGates": None,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "schedulingGates": None,
    "schedulingGroup": None,
    "setHostnameAsFQDN": False,
    "subdomain": None,
}
"""The fields of a pod's spec that the plan decides, each with what holds for a pod that does not have it."""

RESTART: Place = ("spec", "restartPolicy")

CONTAINER_FIELDS: Mapping[str, Any] = {"args": [], "command": [], "restartPolicy": None, "restartPolicyRules": None}
"""The same for the containers that the plan or the operator has put into the pod."""

_KINDS = ("initContainers", "containers")
_LISTS = ("env", "ports", "volumeMounts", "volumes")
_FIXES = {
    "args": "remove it, and write the words in the field of the launcher or of the role",
    "command": "remove it, and write the words in the field of the launcher or of the role",
    "dnsPolicy": "remove it",
    "env": "remove it, or write it in `env`",
    "hostNetwork": "remove it, and write `network: {host: true}`",
    "nodeName": "remove it; choose nodes by `node_selector`",
    "ports": "remove it, and choose the number by `network.port`",
    "resources": "remove it, and write `accelerators`, `cpu`, `memory` or `resources` of the role",
    "restartPolicy": "remove it, and write `restart`",
}


class Difference(Struct, frozen=True):
    """A place in the pods of a role, or of one replica, at which a patch changes what the plan says, with both values. by_operator: the operator
    sets `after` there, whatever the patch says."""

    role: str
    replica: str | None
    place: Place
    before: Any
    after: Any
    by_operator: bool = False


class Stated(Struct, frozen=True):
    """What is known of a plan's pods before they are made. hosts: names that lead to the plan's pods. variables: the names that the launch contract
    gives a meaning to, whether the plan sets them or not, by role. storage: the volumes with claims, by role: a review says what becomes of data there.
    devices: the resources that are accelerators in the environment. main: the operator's name for the container with the command."""

    hosts: frozenset[str]
    variables: Mapping[str, frozenset[str]]
    storage: Mapping[str, frozenset[str]]
    devices: frozenset[str]
    main: str

    @classmethod
    def of(cls, plan: Plan, conventions: PodConventions, environment: Environment) -> Stated:
        """That of the plan, for an operator with these conventions."""
        pods = {name for pod in plan.pods() for name in (pod.name, pod.address)}
        services = {plan.rendezvous.service, plan.rendezvous.address, *(service.name for service in plan.services)}
        contract = {variable.name for variable in VARIABLES[plan.launcher]}
        contract.update(name for names in SCRIPT_VARIABLES[plan.launcher] for name in names.split(", "))
        return cls(
            frozenset(pods | services),
            {
                role.name: frozenset(
                    contract | conventions.of(role.name).appended | conventions.expected.keys() if role.launched else ()
                )
                for role in plan.roles
            },
            {role.name: frozenset(mount.volume for mount in role.mounts) for role in plan.roles},
            frozenset(kind.resource for kind in environment.accelerators.values()),
            conventions.container,
        )


class Made(Struct, frozen=True):
    """What the operator's controller makes of a job: the pods, and the data of ConfigMaps by their names."""

    pods: list[dict[str, Any]]
    config_maps: dict[str, dict[str, str]]


def differences(stated: Stated, before: Made, after: Made) -> Iterator[Difference]:
    """What the plan says of what is made `before` and what is otherwise `after`: each place of a role's or a replica's template once."""
    made = {pod["metadata"]["name"]: pod for pod in after.pods}
    seen: set[tuple[str, str | None, Place]] = set()
    for name, data in before.config_maps.items():
        for place, old, new in _kept(("data",), data, after.config_maps.get(name, {})):
            if old != new:
                yield Difference("", None, place, old, new)
    for pod in before.pods:
        metadata = pod["metadata"]
        other = made.get(metadata["name"])
        if pod == other:
            continue
        labels = metadata["labels"]
        role, replica = labels.get(defaults.ROLE_LABEL, ""), labels.get(defaults.REPLICA_LABEL)
        for place, old, new in _of_pod(pod, {} if other is None else other, stated, role):
            if old != new and (role, replica, place) not in seen:
                seen.add((role, replica, place))
                yield Difference(role, replica, place, old, new)


def settable(made: Made, patched: Collection[str]) -> Iterator[Difference]:
    """What each pod has at the places that an operator may set itself: the fields that the plan decides, and variables. patched: the words of the
    patches, of which alone is asked, since an operator may give each pod variables of every role."""
    for pod in made.pods:
        labels, spec = pod["metadata"]["labels"], pod["spec"]
        values: dict[Place, Any] = {
            ("spec", field): spec[field] for field in POD_FIELDS if field in spec and field in patched
        }
        for kind in _KINDS:
            for container in spec.get(kind, []):
                place: Place = ("spec", kind, _name(container), "env")
                variables = [entry for entry in container.get("env", []) if entry["name"] in patched]
                values |= {(*place, entry["name"]): entry for entry in variables}
        for place, value in values.items():
            yield Difference(
                labels.get(defaults.ROLE_LABEL, ""), labels.get(defaults.REPLICA_LABEL), place, None, value, True
            )


def reason_of(found: Difference) -> str:
    """The reason of a problem. The value of a variable may be a secret, so none is shown."""
    if found.by_operator:
        what = f"the variable {found.place[-1]}" if "env" in found.place else str(found.place[-1])
        return f"the operator itself sets {what} in pods of the role {found.role}, so the patch has no effect"
    if not found.role:
        return f"with the patch the operator makes another {found.place[-1]} than the planned one"
    what = ".".join(found.place)
    if "env" in found.place:
        name = found.place[-1].removeprefix(KEPT_PREFIX)
        verb, need = ("removes", "needs it") if found.after is None else ("decides", "does that")
        return f"the patch {verb} the variable {name} of the role {found.role}, and the plan {need}"
    return f"{difference(found.before, found.after)} ({what} of the role {found.role})"


def fix_of(found: Difference, word: str | int, main: str) -> str:
    """The fix of a problem: the experiment's own field, where there is one. word: the last of the part of the patch that does it; where that is a whole
    list, what the plan needs is gone because of what the list does not have. main: as in `Stated`: `env` is for that container."""
    if found.by_operator and "env" in found.place and found.place[2] != main:
        return f"remove it, or set it in the command of the container: `command: [env, {found.place[-1]}=…, …]`"
    if word in _LISTS and not found.by_operator:
        return as_mapping(str(word))
    return next((_FIXES[word] for word in found.place if word in _FIXES), "remove it")


_Values = Iterator[tuple[Place, Any, Any]]


def _of_pod(before: dict[str, Any], after: dict[str, Any], stated: Stated, role: str) -> _Values:
    for field in ("labels", "annotations"):
        yield from _kept(("metadata", field), *(each.get("metadata", {}).get(field, {}) for each in (before, after)))
    specs = before["spec"], after.get("spec", {})
    for field, usual in POD_FIELDS.items():
        yield ("spec", field), specs[0].get(field, usual), specs[1].get(field, usual)
    yield ("spec", "hostAliases"), _aliases(specs[0], stated.hosts), _aliases(specs[1], stated.hosts)
    yield from _amounts(before, after, stated.devices)
    storage = stated.storage.get(role, frozenset())
    volumes = [_by(spec.get("volumes", []), _name) for spec in specs]
    for name, volume in volumes[0].items():
        if name not in storage:
            yield ("spec", "volumes", name), volume, volumes[1].get(name)
    for kind in _KINDS:
        own, other = (_by(spec.get(kind, []), _name) for spec in specs)
        for name, container in own.items():
            place = ("spec", kind, name)
            if name in other:
                yield from _of_container(
                    place, container, other[name], stated.variables.get(role, frozenset()), storage
                )
            else:
                yield place, container, None


def _of_container(
    place: Place, before: dict[str, Any], after: dict[str, Any], variables: Collection[str], storage: Collection[str]
) -> _Values:
    both = before, after
    for field, usual in CONTAINER_FIELDS.items():
        yield (*place, field), before.get(field, usual), after.get(field, usual)
    yield from _kept((*place, "ports"), *(_by(container.get("ports", []), _port) for container in both))
    mounts = [_by(container.get("volumeMounts", []), _mount) for container in both]
    for path, mount in mounts[0].items():
        if mount["name"] not in storage:
            yield (*place, "volumeMounts", mount["name"]), mount, mounts[1].get(path)
    if before.get("env") == after.get("env"):
        return
    old, new = (_effective(container.get("env", [])) for container in both)
    for name in dict.fromkeys([*old, *sorted(variables)]):
        yield (*place, "env", name), old.get(name), new.get(name)


def _amounts(before: dict[str, Any], after: dict[str, Any], devices: Collection[str]) -> _Values:
    """What the plan counts: the limits that it has given to its own containers, and the accelerators of the whole pod. It says the processes and
    the cost by them. A step before the start may use those that the pod has anyway."""
    old, new = (
        {place: resource_amounts(container, "limits") for place, container in _template(pod).named_containers()}
        for pod in (before, after)
    )
    more = [each for each in devices if _template(before).pod_request(each) != _template(after).pod_request(each)]
    for place, limits in new.items():
        for resource in dict.fromkeys([*old.get(place, ()), *(each for each in more if each in limits)]):
            was, now = old.get(place, {}).get(resource), limits.get(resource)
            if quantity(was) != quantity(now):
                yield (*place.split(".", 2), "resources", "limits", resource), was, now


def _template(pod: dict[str, Any]) -> Template:
    return Template(1, 1, pod)


def _kept(place: Place, before: Mapping[str, Any], after: Mapping[str, Any]) -> _Values:
    """What there is before; more may be there after."""
    return (((*place, key), value, after.get(key)) for key, value in before.items())


def _by(items: list[dict[str, Any]], key: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    return {key(item): item for item in items}


def _name(item: dict[str, Any]) -> str:
    return str(item["name"])


def _mount(mount: dict[str, Any]) -> str:
    return str(mount["mountPath"])


def _port(port: dict[str, Any]) -> str:
    return str(port["name"] if "name" in port else port["containerPort"])


def _aliases(spec: dict[str, Any], hosts: frozenset[str]) -> list[str]:
    """The hosts of the plan that have another address in the pod's own file of hosts."""
    given = [alias.get("hostnames") for alias in mappings(spec.get("hostAliases"))]
    return sorted(
        {name for names in given if isinstance(names, list) for name in names if isinstance(name, str)} & hosts
    )


def _effective(env: list[dict[str, Any]]) -> dict[str, str]:
    """The variables as the container sees them: the last of a name wins, and `$(NAME)` is the value of one before it. A source stands for its value."""
    values: dict[str, str] = {}
    for entry in env:
        source = entry.get("valueFrom")
        values[entry["name"]] = (
            expanded(entry.get("value", ""), values) if source is None else json.dumps(source, sort_keys=True)
        )
    return values
