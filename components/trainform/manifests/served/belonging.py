"""More of what the API server checks in pods beside single fields: containers, their rights and mounts, and what a pod shares with its node.

Source: Kubernetes 1.34.4, `pkg/apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_UP, Decimal
from typing import Any

from trainform import defaults
from trainform.manifests.handlers import PROBES
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping, mappings, quantity
from trainform.manifests.templates import RESOURCE_FIELDS, Template, node_port, resource_amounts
from trainform.spec.names import FIELD_OF_FILE, FIELD_OF_VARIABLE, MEANING, matches
from trainform.spec.quantities import spell

_Value = dict[str, Any]

_OWN_NAMES = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_GRACE = 30  # seconds, of a pod that names none
_MILLI = Decimal("0.001")  # to which Kubernetes rounds up
_ESCALATING = ("SYS_ADMIN", "CAP_SYS_ADMIN")
_OF_THE_NODE = {"hostNetwork": ("net.",), "hostIPC": ("kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")}
"""What a pod shares with its node, and how settings of the kernel begin that are the node's then (component-helpers, node/util/sysctl)."""
_OWN_RESTARTS = (
    (
        "containers",
        None,
        "the field is for init containers alone",
        "remove it; a sidecar that ends with the others stands in `initContainers` with `restartPolicy: Always`",
    ),
    ("initContainers", "Always", "an init container has the field only with Always", "write Always, or remove it"),
)
"""Where the containers are, the policy of their own that they may have, and reason and fix for another one."""


def port_names(container: _Value) -> Iterator[Mistake]:
    """Ports that have one name."""
    seen = set()
    for index, port in enumerate(mappings(container.get("ports"))):
        name = port.get("name")
        if name is not None and name in seen:
            yield Mistake(f"ports[{index}].name", name, "a port of the container has this name", "choose another name")
        seen.add(name)


def node_ports(spec: _Value) -> Iterator[Mistake]:
    """Ports of the node that the pod takes twice. A container that ends before the others start shares them with no other."""
    taken: dict[str, str] = {}
    for field in ("initContainers", "containers"):
        for container in mappings(spec.get(field)):
            ends_first = field == "initContainers" and container.get("restartPolicy") != "Always"
            known = {} if ends_first else taken
            for index, port in enumerate(mappings(container.get("ports"))):
                where, number = f"{field}.{container.get('name')}.ports[{index}]", node_port(port, spec)
                if number in known:
                    reason = f"the pod takes the port {number} of its node already"
                    fix = "choose another port, or remove one of them"
                    yield Mistake(where, None, reason, fix, (known[number], "hostNetwork"))
                elif number:
                    known[number] = where


def probes(container: _Value) -> Iterator[Mistake]:
    """Fields that only some of the probes have."""
    for field in ("livenessProbe", "startupProbe"):
        number = mapping(container.get(field)).get("successThreshold", 1)
        if number != 1:
            yield Mistake(f"{field}.successThreshold", number, "of this probe one success is enough", "write 1")
    if "terminationGracePeriodSeconds" in mapping(container.get("readinessProbe")):
        where = "readinessProbe.terminationGracePeriodSeconds"
        yield Mistake(where, None, "a probe of readiness ends no container", "remove it")


def variable_fields(source: _Value) -> Iterator[Mistake]:
    """A field of the pod that no variable can have."""
    return _field(source, FIELD_OF_VARIABLE)


def file_fields(file: _Value) -> Iterator[Mistake]:
    """The same of a file, and a resource without its container: a file is the whole pod's."""
    yield from _field(file, FIELD_OF_FILE)
    if "resourceFieldRef" in file and not mapping(file["resourceFieldRef"]).get("containerName"):
        fix = f"add `containerName: {defaults.MAIN_CONTAINER}`"
        yield Mistake("resourceFieldRef", None, "the file does not say of which container", fix)


def _field(holder: _Value, pattern: str) -> Iterator[Mistake]:
    path = mapping(holder.get("fieldRef")).get("fieldPath")
    if path is not None and not matches(pattern, path):
        reason, fix = MEANING[pattern]
        yield Mistake("fieldRef.fieldPath", path, reason, fix)


def mounts(container: _Value) -> Iterator[Mistake]:
    """Mounts that need other fields, and volumes that are mounted and given as a device."""
    mounted = {mount.get("name"): mount for mount in mappings(container.get("volumeMounts"))}
    for name, mount in mounted.items():
        where = f"volumeMounts.{name}"
        if mount.get("subPath") and mount.get("subPathExpr"):
            reason = "the mount has subPath and subPathExpr, and may have one"
            yield Mistake(f"{where}.subPathExpr", None, reason, "keep one of them", (f"{where}.subPath",))
        privileged = mapping(container.get("securityContext")).get("privileged")
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            reason = "the value needs a privileged container"
            yield Mistake(f"{where}.mountPropagation", "Bidirectional", reason, "remove it, or write HostToContainer")
        if mount.get("recursiveReadOnly", "Disabled") != "Disabled" and not mount.get("readOnly"):
            reason = "the field is for a mount that is read only"
            fix = "add `readOnly: true`, or remove it"
            yield Mistake(f"{where}.recursiveReadOnly", None, reason, fix, (f"{where}.readOnly",))
    for device in mappings(container.get("volumeDevices")):
        if device.get("name") in mounted:
            reason = "the container mounts the volume too, and a volume is one of the two"
            yield Mistake("volumeDevices", device.get("name"), reason, "keep the mount or the device")


def rights(context: _Value) -> Iterator[Mistake]:
    """Rights that a container cannot have without gaining more of them."""
    if context.get("allowPrivilegeEscalation") is not False:
        return
    added = mapping(context.get("capabilities")).get("add", [])
    for field, has in (("privileged", context.get("privileged")), ("capabilities", {*added} & {*_ESCALATING})):
        if has:
            reason = "the container has rights that include more of them"
            fix = f"remove it, or {field}"
            yield Mistake("allowPrivilegeEscalation", False, reason, fix, (field,))


def sysctls(context: _Value) -> Iterator[Mistake]:
    """Settings of the kernel that are there twice."""
    seen = set()
    for index, setting in enumerate(mappings(context.get("sysctls"))):
        name = setting.get("name")
        if name in seen:
            yield Mistake(f"sysctls[{index}].name", name, "the setting is there already", "remove one of them")
        seen.add(name)


def settings_of_node(spec: _Value) -> Iterator[Mistake]:
    """Settings of the kernel in what the pod shares with its node."""
    for index, setting in enumerate(mappings(mapping(spec.get("securityContext")).get("sysctls"))):
        name = str(setting.get("name")).replace("/", ".")
        for field, beginnings in _OF_THE_NODE.items():
            if spec.get(field) and name.startswith(beginnings):
                reason = f"the setting is the node's own, which a pod with {field} shares"
                fix = "remove it, and have the nodes set it"
                yield Mistake(f"securityContext.sysctls[{index}].name", setting["name"], reason, fix, (field,))


def resource_names(resources: _Value) -> Iterator[Mistake]:
    """Resources that a container cannot have, and amounts of them that are no whole number."""
    for field in RESOURCE_FIELDS:
        given = mapping(resources.get(field))
        for resource, amount in given.items():
            where = f"{field}.{resource}"
            known = resource in _OWN_NAMES or resource.startswith(_HUGE_PAGES)
            number = quantity(amount)
            if "/" not in resource and not known:
                fix = "write its whole name, like nvidia.com/gpu"
                yield Mistake(where, amount, "a container has no resource of this name", fix)
            elif not known and number is not None and number != int(number):
                yield Mistake(where, amount, "the resource is counted in whole numbers", "write a whole number")
    named = {name for field in RESOURCE_FIELDS for name in mapping(resources.get(field))}
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    for resource in sorted(named):
        where, limit, request = f"limits.{resource}", limits.get(resource), requests.get(resource)
        if resource.startswith(_HUGE_PAGES) and not named & {"cpu", "memory"}:
            yield Mistake(where, None, "huge pages need cpu or memory beside them", "add `memory`", ("limits",))
        elif resource not in _OWN_NAMES and limit is None:
            reason, fix = "the resource needs a limit", "write it in `limits`, which are the requests too"
            yield Mistake(f"requests.{resource}", request, reason, fix, (where,))
        elif resource.startswith(_HUGE_PAGES) and request is not None and quantity(request) != quantity(limit):
            reason = "the request of huge pages is not their limit"
            fix = "write the same amount in `requests` and `limits`"
            yield Mistake(f"requests.{resource}", request, reason, fix, (where,))


def whole(spec: _Value) -> Iterator[Mistake]:
    """A pod that as a whole asks for less than its containers together, or has a limit below that of one of them. A limit alone is also the request."""
    requests, limits = (mapping(mapping(spec.get("resources")).get(field)) for field in RESOURCE_FIELDS)
    asks = Template(1, 1, {"spec": spec}).containers_request
    for resource in sorted({*requests, *limits}):
        of_each = (
            resource_amounts(container, "limits").get(resource) for container in mappings(spec.get("containers"))
        )
        highest = max(filter(None, map(quantity, of_each)), default=Decimal(0))
        asked = asks(resource)
        least = {"requests": asked, "limits": highest if resource in requests else max(asked, highest)}
        for field, given in (("requests", requests), ("limits", limits)):
            amount = quantity(given.get(resource))
            if amount is not None and amount < least[field]:
                needed = spell(least[field].quantize(_MILLI, ROUND_UP), binary=resource != "cpu")
                reason = f"the pod as a whole has less than its containers, which need {needed}"
                fix = f"write {needed} or more, or less in its containers"
                yield Mistake(f"resources.{field}.{resource}", given[resource], reason, fix)


def node_terms(selector: _Value) -> Iterator[Mistake]:
    """No terms, and more than one name of a node in a term."""
    terms = mappings(selector.get("nodeSelectorTerms"))
    if not terms:
        yield Mistake("nodeSelectorTerms", None, "the list is empty, and one term is needed", "add a term")
    for index, term in enumerate(terms):
        for inner, requirement in enumerate(mappings(term.get("matchFields"))):
            if len(requirement.get("values", [])) != 1:
                where = f"nodeSelectorTerms[{index}].matchFields[{inner}].values"
                yield Mistake(where, None, "one name of a node is allowed here", "write a term for each node")


def keys_twice(value: _Value) -> Iterator[Mistake]:
    """Keys of labels whose values must match, which the selector or those that must not match have too."""
    selector = mapping(value.get("labelSelector"))
    keys = {*mapping(selector.get("matchLabels"))}
    keys |= {str(each.get("key")) for each in mappings(selector.get("matchExpressions"))}
    for index, key in enumerate(value.get("matchLabelKeys", [])):
        for other, of_other in (("labelSelector", keys), ("mismatchLabelKeys", value.get("mismatchLabelKeys", []))):
            if key in of_other:
                reason = f"{other} has the key already"
                yield Mistake(f"matchLabelKeys[{index}]", key, reason, "remove one of them", (other,))


def starts(spec: _Value) -> Iterator[Mistake]:
    """Fields that an init container has only if it runs on beside the others."""
    for container in mappings(spec.get("initContainers")):
        for field in (*PROBES, "lifecycle"):
            if field in container and container.get("restartPolicy") != "Always":
                where = f"initContainers.{container.get('name')}.{field}"
                reason = "the field is not for an init container that ends before the others start"
                yield Mistake(where, None, reason, "remove it, or add `restartPolicy: Always` to the container")


def restarts(spec: _Value) -> Iterator[Mistake]:
    """Containers with a restart policy of their own, which init containers alone may have, and of them only `Always`."""
    for field, word, reason, fix in _OWN_RESTARTS:
        for container in mappings(spec.get(field)):
            if container.get("restartPolicy", word) != word:
                where = f"{field}.{container.get('name')}.restartPolicy"
                yield Mistake(where, container["restartPolicy"], reason, fix)


def ends(spec: _Value) -> Iterator[Mistake]:
    """Hooks that sleep for longer than the pod may take to end."""
    grace = spec.get("terminationGracePeriodSeconds", _GRACE)
    for field in ("initContainers", "containers"):
        for container in mappings(spec.get(field)):
            for hook, action in mapping(container.get("lifecycle")).items():
                seconds = mapping(mapping(action).get("sleep")).get("seconds", 0)
                if seconds > grace:
                    where = f"{field}.{container.get('name')}.lifecycle.{hook}.sleep.seconds"
                    reason = f"the pod has {grace} seconds to end"
                    fix = f"write {grace} or less, or raise terminationGracePeriodSeconds"
                    yield Mistake(where, seconds, reason, fix, ("terminationGracePeriodSeconds",))


def signals(spec: _Value) -> Iterator[Mistake]:
    """Signals of pods that do not say for which system they are."""
    for field in ("initContainers", "containers") if "os" not in spec else ():
        for container in mappings(spec.get(field)):
            signal = mapping(container.get("lifecycle")).get("stopSignal")
            if signal is not None:
                where = f"{field}.{container.get('name')}.lifecycle.stopSignal"
                reason = "the field is for pods that say for which system they are"
                yield Mistake(where, signal, reason, "add `os: {name: linux}` to the pod", ("os",))


def shares(spec: _Value) -> Iterator[Mistake]:
    """What a pod shares with its node, and what it has of its own."""
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        reason = "the pod has the processes of its node already"
        yield Mistake("shareProcessNamespace", True, reason, "remove it, or hostPID", ("hostPID",))
    for field in ("hostIPC", "hostNetwork", "hostPID"):
        if spec.get("hostUsers") is False and spec.get(field):
            reason = f"users of its own are not for a pod with {field}"
            yield Mistake("hostUsers", False, reason, f"remove it, or {field}", (field,))
    for container in mappings(spec.get("containers")):
        if mapping(container.get("securityContext")).get("procMount") == "Unmasked" and spec.get("hostUsers", True):
            where = f"containers.{container.get('name')}.securityContext.procMount"
            yield Mistake(where, "Unmasked", "the value needs `hostUsers: false`", "remove it", ("hostUsers",))


def resizes(spec: _Value) -> Iterator[Mistake]:
    """A restart to resize a container of a pod in which nothing starts again."""
    for container in mappings(spec.get("containers")) if spec.get("restartPolicy") == "Never" else ():
        for index, policy in enumerate(mappings(container.get("resizePolicy"))):
            if policy.get("restartPolicy") == "RestartContainer":
                where = f"containers.{container.get('name')}.resizePolicy[{index}].restartPolicy"
                yield Mistake(where, "RestartContainer", "no container of the pod starts again", "write NotRequired")


def system(spec: _Value) -> Iterator[Mistake]:
    """Another system than the one for which the fields of the pod are."""
    if mapping(spec.get("os")).get("name") == "windows":
        reason = "the fields of the pod are for Linux, and the server refuses them in a pod for Windows"
        yield Mistake("os.name", "windows", reason, "remove it")


def of_class(spec: _Value) -> Iterator[Mistake]:
    """What the server sets from the pod's priority class, and refuses where it stands there already."""
    if "preemptionPolicy" in spec:
        fix = "remove it, and set a priority class that has it"
        yield Mistake("preemptionPolicy", None, "the server sets the field from the priority class", fix)
