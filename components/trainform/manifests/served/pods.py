"""What the API server checks in pods beside single fields: what belongs together, by type, and then over a whole pod.

Source: Kubernetes 1.34.4, `pkg/apis/core/validation`. What few pods have (disks of one cloud, Windows) is left to the server: a preview asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.manifests.served import belonging, kubelet
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping, mappings, quantity
from trainform.manifests.templates import (
    CONTAINER_FIELDS,
    IS_READ,
    ITS_FIELD,
    PARSED_ANNOTATIONS,
    RESOURCE_FIELDS,
    WITHOUT_FIELD,
)
from trainform.spec.names import LABEL_MAX, LABEL_VALUE, MEANING, QUALIFIED, SUBDOMAIN_MAX, matches

_Value = dict[str, Any]
_Check = Callable[[_Value], Iterator[Mistake]]


def _one_of(who: str, *fields: str, least: int = 1) -> _Check:
    """At most one of the fields, and at least that many. No field: any but `name`."""

    def check(value: _Value) -> Iterator[Mistake]:
        found = [field for field in (fields if fields else value) if field in value and field != "name"]
        if len(found) > 1:
            reason = f"{who} has {' and '.join(found)}, and may have one"
            yield Mistake(found[-1], None, reason, "keep one of them", tuple(found[:-1]))
        elif len(found) < least:
            yield Mistake("", None, f"{who} has nothing that says which one it is", f"add one of {', '.join(fields)}")

    return check


def _variable(variable: _Value) -> Iterator[Mistake]:
    if variable.get("value") and "valueFrom" in variable:
        reason = "the variable has a value and a source, and may have one of them"
        yield Mistake("valueFrom", None, reason, "keep one of them", ("value",))


def _all_of(*checks: _Check) -> _Check:
    def check(value: _Value) -> Iterator[Mistake]:
        for each in checks:
            yield from each(value)

    return check


def _words(container: _Value) -> Iterator[Mistake]:
    """Words that Linux takes for no program, so that the container would never start."""
    words = [(field, len(str(word).encode())) for field in ("command", "args") for word in container.get(field, ())]
    words += [
        (f"env.{variable['name']}", len(f"{variable['name']}={variable.get('value', '')}".encode()))
        for variable in mappings(container.get("env"))
    ]
    for where, size in words:
        if size > defaults.LONGEST_WORD:
            reason = f"it has {size} bytes, and Linux starts no program with an argument or variable of more than {defaults.LONGEST_WORD}"
            yield Mistake(where, None, reason, "put it into a file of the image, or of a volume")


def _toleration(toleration: _Value) -> Iterator[Mistake]:
    exists = toleration.get("operator") == "Exists"
    if toleration.get("key"):
        yield from _named("key", toleration["key"], QUALIFIED, SUBDOMAIN_MAX + 1 + LABEL_MAX)
    if not toleration.get("key") and not exists:
        yield Mistake(
            "operator", None, "a toleration without a key is for every taint", "add `key`, or write `operator: Exists`"
        )
    if exists and toleration.get("value"):
        yield Mistake("value", None, "the operator Exists takes no value", "remove it, or write `operator: Equal`")
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        fix = "write `effect: NoExecute`, or remove it"
        yield Mistake("tolerationSeconds", None, "the field needs the effect NoExecute", fix, ("effect",))


def _requirement(requirement: _Value) -> Iterator[Mistake]:
    """Of the labels of nodes or pods: how many values its operator takes."""
    operator, values = requirement.get("operator"), requirement.get("values", [])
    if operator in ("In", "NotIn") and not values:
        yield Mistake("values", None, f"the operator {operator} needs values", "add `values: [VALUE]`", ("operator",))
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield Mistake(
            "values", None, f"the operator {operator} needs one value", "write one whole number", ("operator",)
        )
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Mistake("values", None, f"the operator {operator} takes no values", "remove them", ("operator",))


def _fields_of_nodes(term: _Value) -> Iterator[Mistake]:
    for index, requirement in enumerate(mappings(term.get("matchFields"))):
        if requirement.get("key") != "metadata.name" or requirement.get("operator") not in ("In", "NotIn"):
            reason = "of the fields of a node only its name is compared, with In or NotIn"
            fix = "write `key: metadata.name`, or use `matchExpressions` for labels"
            yield Mistake(f"matchFields[{index}]", None, reason, fix)


def _claim(spec: _Value) -> Iterator[Mistake]:
    if "storage" not in mapping(mapping(spec.get("resources")).get("requests")):
        yield Mistake(
            "resources.requests", None, "the claim does not say its size", "add `storage: 100Gi`", ("resources",)
        )


def _needs_selector(value: _Value) -> Iterator[Mistake]:
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(field) and "labelSelector" not in value:
            fix = "add `labelSelector`, or remove it"
            yield Mistake(field, None, "the field needs a labelSelector beside it", fix, ("labelSelector",))


def _spread(spread: _Value) -> Iterator[Mistake]:
    yield from _needs_selector(spread)
    if "minDomains" in spread and spread.get("whenUnsatisfiable") != "DoNotSchedule":
        fix = "write `whenUnsatisfiable: DoNotSchedule`, or remove it"
        yield Mistake(
            "minDomains", None, "the field needs whenUnsatisfiable: DoNotSchedule", fix, ("whenUnsatisfiable",)
        )


def _profile(profile: _Value) -> Iterator[Mistake]:
    if (profile.get("type") == "Localhost") != bool(profile.get("localhostProfile")):
        fix = "write both, or neither"
        yield Mistake(
            "localhostProfile", None, "the field belongs to the type Localhost, which needs it", fix, ("type",)
        )


def _resources(resources: _Value) -> Iterator[Mistake]:
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    for field in RESOURCE_FIELDS:
        for resource, given in mapping(resources.get(field)).items():
            if str(given).startswith("-"):
                yield Mistake(f"{field}.{resource}", given, "the amount is less than none", "write 0 or more")
    for resource, asked in requests.items():
        at, other, limit = f"requests.{resource}", (f"limits.{resource}",), limits.get(resource)
        request, most = quantity(asked), quantity(limit)
        if request is not None and most is not None and request > most:
            reason = f"the request is more than the limit, which is {limit}"
            yield Mistake(at, asked, reason, "write the limit or less, or raise `limits` too", other)


def _some_container(spec: _Value) -> Iterator[Mistake]:
    if not spec.get("containers"):
        yield Mistake("containers", None, "no container is left, and a pod needs one", "keep the container")


def _containers(spec: _Value) -> Iterator[tuple[str, _Value]]:
    for field in CONTAINER_FIELDS:
        for index, container in enumerate(mappings(spec.get(field))):
            yield f"{field}.{container.get('name', f'[{index}]')}", container


def _names(spec: _Value) -> Iterator[Mistake]:
    seen = set()
    for where, container in _containers(spec):
        name = container.get("name")
        if name in seen:
            yield Mistake(where, None, f"the pod has a container {name} already", "give it another name")
        seen.add(name)
    for key, value in mapping(spec.get("nodeSelector")).items():
        yield from _named(f"nodeSelector.{key}", key, QUALIFIED, SUBDOMAIN_MAX + 1 + LABEL_MAX)
        yield from _named(f"nodeSelector.{key}", value, LABEL_VALUE, LABEL_MAX)


def _mounts(spec: _Value) -> Iterator[Mistake]:
    volumes = {volume.get("name") for volume in mappings(spec.get("volumes"))}
    for where, container in _containers(spec):
        for mount in mappings(container.get("volumeMounts")):
            name = mount.get("name")
            if name not in volumes:
                reason = f"the container mounts the volume {name}, and the pod has none of this name"
                fix = "add it to `volumes`, or remove the mount"
                yield Mistake(f"{where}.volumeMounts.{name}", None, reason, fix, ("volumes",))


def _ports(spec: _Value) -> Iterator[Mistake]:
    for where, container in _containers(spec):
        for index, port in enumerate(mappings(container.get("ports"))):
            number, host = port.get("containerPort"), port.get("hostPort")
            if spec.get("hostNetwork") and host is not None and host != number:
                at = f"{where}.ports.{port.get('name', f'[{index}]')}.hostPort"
                reason = "on the host network the port of the container is the port of the host"
                yield Mistake(at, host, reason, f"write {number}", ("hostNetwork",))


def _dns(spec: _Value) -> Iterator[Mistake]:
    if spec.get("dnsPolicy") == "None" and not mapping(spec.get("dnsConfig")).get("nameservers"):
        reason, fix = (
            "the policy None needs servers of names",
            "add `dnsConfig: {nameservers: [ADDRESS]}`, or choose another",
        )
        yield Mistake("dnsPolicy", "None", reason, fix, ("dnsConfig",))


def _whole(spec: _Value) -> Iterator[Mistake]:
    """What the pod as a whole may ask for."""
    whole = mapping(spec.get("resources"))
    for field in RESOURCE_FIELDS:
        for resource in mapping(whole.get(field)):
            if resource not in ("cpu", "memory") and not resource.startswith("hugepages-"):
                reason = "a pod as a whole asks for cpu, memory and hugepages alone"
                yield Mistake(f"resources.{field}.{resource}", None, reason, "move it to a container")


def _computed(spec: _Value) -> Iterator[Mistake]:
    if "overhead" in spec:
        reason = "the server sets the field from the runtime class"
        yield Mistake("overhead", None, reason, "remove it, and set runtimeClassName")


_OF_PODS: Iterable[_Check] = (
    _some_container,
    _names,
    _mounts,
    _ports,
    _dns,
    _whole,
    _computed,
    belonging.whole,
    belonging.of_class,
    belonging.starts,
    belonging.restarts,
    belonging.signals,
    belonging.ends,
    belonging.shares,
    belonging.settings_of_node,
    belonging.resizes,
    belonging.system,
    belonging.node_ports,
    kubelet.mounts,
    kubelet.root,
)


def template_metadata(template: _Value) -> Iterator[Mistake]:
    """As `metadata`, for a pod template."""
    yield from (found.below("metadata") for found in metadata(mapping(template.get("metadata"))))


def _parsed(template: _Value) -> Iterator[Mistake]:
    for key, value in mapping(mapping(template.get("metadata")).get("annotations")).items():
        if key.startswith(PARSED_ANNOTATIONS):
            fix = "remove it" if key.startswith(WITHOUT_FIELD) else f"remove it, or {ITS_FIELD}"
            yield Mistake(f"metadata.annotations.{key}", value, IS_READ, fix)


def metadata(written: _Value) -> Iterator[Mistake]:
    """Keys and values of labels and annotations that no object may have, and annotations that are too large together."""
    labels, notes = mapping(written.get("labels")), mapping(written.get("annotations"))
    for field, keys in (("labels", labels), ("annotations", notes)):
        for key in keys:
            yield from _named(f"{field}.{key}", key, QUALIFIED, SUBDOMAIN_MAX + 1 + LABEL_MAX)
    for key, value in labels.items():
        yield from _named(f"labels.{key}", value, LABEL_VALUE, LABEL_MAX)
    size = sum(len(str(part).encode()) for item in notes.items() for part in item)
    most = defaults.LARGEST_ANNOTATIONS - defaults.ROOM_FOR_ANNOTATIONS
    if size > most:
        reason = f"the annotations have {size} bytes together, and {most} are free: Kubernetes keeps at most {defaults.LARGEST_ANNOTATIONS}"
        yield Mistake("annotations", None, reason, "put large values into a ConfigMap")


def _named(where: str, name: object, pattern: str, most: int) -> Iterator[Mistake]:
    reason, fix = MEANING[pattern]
    if not isinstance(name, str) or not matches(pattern, name):
        yield Mistake(where, name, f"the key or value {reason}", fix)
    elif len(name) > most:
        yield Mistake(where, name, f"the text has {len(name)} characters, and {most} are allowed", "shorten it")


CHECKS: Mapping[str, _Check] = {
    "AppArmorProfile": _profile,
    "Container": _all_of(
        _words, belonging.port_names, belonging.probes, belonging.mounts, kubelet.working_folder, kubelet.handler_ports
    ),
    "DownwardAPIVolumeFile": _all_of(_one_of("the file", "fieldRef", "resourceFieldRef"), belonging.file_fields),
    "EmptyDirVolumeSource": kubelet.medium,
    "EnvFromSource": _one_of("the source", "configMapRef", "secretRef"),
    "EnvVar": _variable,
    "EnvVarSource": _all_of(
        _one_of("the variable", "configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"),
        belonging.variable_fields,
    ),
    "LabelSelectorRequirement": _requirement,
    "LifecycleHandler": _one_of("the hook", "exec", "httpGet", "sleep", "tcpSocket"),
    "NodeSelector": belonging.node_terms,
    "NodeSelectorRequirement": _requirement,
    "NodeSelectorTerm": _fields_of_nodes,
    "PersistentVolumeClaimSpec": _claim,
    "PodAffinityTerm": _all_of(_needs_selector, belonging.keys_twice),
    "PodResourceClaim": _one_of("the claim", "resourceClaimName", "resourceClaimTemplateName"),
    "PodSecurityContext": belonging.sysctls,
    "PodSpec": _all_of(*_OF_PODS),
    "PodTemplateSpec": _all_of(template_metadata, _parsed),
    "Probe": _one_of("the probe", "exec", "grpc", "httpGet", "tcpSocket"),
    "ResourceRequirements": _all_of(_resources, belonging.resource_names),
    "SeccompProfile": _profile,
    "SecurityContext": belonging.rights,
    "Toleration": _toleration,
    "TopologySpreadConstraint": _all_of(_spread, belonging.keys_twice),
    "Volume": _one_of("the volume", least=0),
}
"""By the type of Kubernetes. A place of a mistake is counted from the value; "" is the value itself."""
