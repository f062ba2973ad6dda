"""Images of pods, and pods beyond the Pod Security Standards: volumes, root, devices, accounts, metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any

from msgspec import structs

from trainform.errors import list_names
from trainform.manifests.manifest import decoded, mapping, mappings
from trainform.manifests.templates import Place, places, volume_sources, volume_type
from trainform.rules.limits.pod_security import RUN_AS, below_a_folder, host_path_fix, host_paths, join_places
from trainform.rules.limits.rule import Finding, Judged, not_allowed
from trainform.spec.environment import Environment
from trainform.spec.names import IMAGE, PLACEHOLDER, is_placeholder, matches, qualified

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
                fix = host_path_fix(limits.host_paths)
                yield join_places([place], "a volume is a path of the node", forbidden, fix, template)


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
    limits = environment.limits
    # findings of TF-POD-1 may be warnings or waived
    always = limits.severity.get(LEVEL, "error") == "error" and LEVEL not in limits.waivable
    if limits.pod_security == "restricted" and always:
        return
    forbidden = f"which the environment {environment.name} forbids"
    for template in judged.templates:
        found = list(_as_root(template.body))
        if found:
            yield join_places(found, "a container may run as root", forbidden, RUN_AS, template)


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


METADATA_FIELDS = ("labels", "annotations")
OFF = ("false", "disabled")
"""Values that switch off the effect of a key."""

_NODES = "it keeps all other pods from the nodes that it takes, and chooses them itself"
_CONTAINER = "a webhook adds a container to the pods, from an image that no limit sees"
_NETWORK = "it attaches the pods to networks of the node"
_DEVICES = "the container runtime gives the pods devices and settings of the node"
_ROLE = "an agent of the nodes gives the pods the rights of a role in the cloud account"
KEYS = {
    "/exclusive-topology": _NODES,
    "sidecar.istio.io/": _CONTAINER,
    "inject.istio.io/": _CONTAINER,
    "linkerd.io/inject": _CONTAINER,
    "dapr.io/": _CONTAINER,
    "vault.hashicorp.com/": _CONTAINER,
    "gke-gcsfuse/": _CONTAINER,
    "iam.amazonaws.com/": _ROLE,
    "k8s.v1.cni.cncf.io/networks": _NETWORK,
    "v1.multus-cni.io/default-network": _NETWORK,
    "cdi.k8s.io/": _DEVICES,
    "devices.nri.io": _DEVICES,
    "mounts.nri.io": _DEVICES,
    "io.kubernetes.cri-o.": _DEVICES,
    "io.katacontainers.": _DEVICES,
}
"""The effect of a key, by its prefix, or by its suffix if that begins with `/`."""
_KNOWN = re.compile("|".join([f"{re.escape(part)}\\Z" if part[0] == "/" else f"^{re.escape(part)}" for part in KEYS]))
KEYS_FIX = "remove it, or ask the platform team for limits.metadata_keys"


def keys(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield keys of the table in the metadata of pods, of objects, and of templates inside objects."""
    in_pods = set()
    for template in judged.templates:
        for _, field, key, value in _metadata({"metadata": template.body.get("metadata")}, ""):
            in_pods.add((field, key, repr(value)))
            for reason in _reasons(key, value, environment):
                yield Finding(f"metadata.{field}.{key}", value, reason, KEYS_FIX, template)
    for owner, body in judged.objects.items():
        for where, field, key, value in _metadata(body, ""):
            if (field, key, repr(value)) not in in_pods:
                for reason in _reasons(key, value, environment):
                    yield Finding(f"{where}.{field}.{key}", value, reason, KEYS_FIX, key=owner)


def _reasons(key: object, value: object, environment: Environment) -> Iterator[str]:
    """Yield the reason against the key with this value, if there is one."""
    found = _KNOWN.search(str(key))
    if found is not None and value not in OFF and key not in environment.limits.metadata_keys:
        yield f"the key has an effect that no limit of the environment counts: {KEYS[found[0]]}"


def _metadata(value: Any, path: str) -> Iterator[tuple[str, str, str, Any]]:
    """Yield every label and annotation in an object: the path of the metadata, the field, the key and its value."""
    if isinstance(value, dict):
        for name in value:
            inner, where = value[name], f"{path}.{name}" if path else str(name)
            if name == "metadata":
                for field in METADATA_FIELDS:
                    yield from ((where, field, key, each) for key, each in mapping(mapping(inner).get(field)).items())
            elif isinstance(inner, dict | list):
                yield from _metadata(inner, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            named = item.get("name", index) if isinstance(item, dict) else index
            yield from _metadata(item, f"{path}.{named}")


# Suffix of the variables by which container runtimes of all vendors give a container devices of the node, bypassing
# the device plugin that counts them.
ENDING = "_VISIBLE_DEVICES"
# Variables that only select among the devices that the container has.
NARROWING = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# Such variables with another suffix. A channel of IMEX opens the memory of GPUs of other nodes.
OTHERS = ("NVIDIA_IMEX_CHANNELS", "NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES")
NO_DEVICES = ("", "none", "void")
DEVICES_REASON = (
    "the variable gives the container accelerators of the node that it does not ask for, and that no limit counts"
)
DEVICES_FIX = "remove it: a container sees the `accelerators` that it asks for"

# Objects whose entries containers take as variables by `envFrom`, and the fields of their entries.
SOURCES = {"ConfigMap": ("data",), "Secret": ("data", "stringData")}
ENCODED = ("Secret", "data")  # the entries are in base64


def visible(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield variables that give a container devices of the node. A privileged container has all of them anyway."""
    if environment.limits.pod_security == "privileged":
        return
    yield from _entries(judged)
    for template in judged.templates:
        found: dict[tuple[str, str], tuple[str, object, list[object]]] = {}
        for where, container in template.named_containers:
            for variable in mappings(container.get("env")):
                name, value = variable.get("name"), _value(variable)
                if _gives(name) and value not in NO_DEVICES:
                    path = f"{where}.env.{name}"
                    found.setdefault((str(name), repr(value)), (path, value, []))[2].append([path, variable])
        for where, value, found_at in found.values():
            shown = value if isinstance(value, str) else None
            yield Finding(where, shown, DEVICES_REASON, DEVICES_FIX, template, bound=found_at)


def _entries(judged: Judged) -> Iterator[Finding]:
    """Yield entries that are such variables in every container that takes all entries of the object."""
    reason = f"by `envFrom`, {DEVICES_REASON}"
    for kind, fields in SOURCES.items():
        for key, body in judged.of_kind(kind):
            for field in fields:
                for name, value in mapping(body.get(field)).items():
                    given = decoded(value) if (kind, field) == ENCODED else value
                    if _gives(name) and given not in NO_DEVICES:
                        bound = [kind, value]  # no value of a Secret is shown
                        yield Finding(f"{field}.{name}", None, reason, DEVICES_FIX, key=key, bound=bound)


def _gives(name: object) -> bool:
    """Return True if a variable of this name gives a container devices of the node."""
    return name in OTHERS or (isinstance(name, str) and name.endswith(ENDING) and name not in NARROWING)


def _value(variable: dict[str, Any]) -> object:
    """Return the value of the variable, or the source of its value."""
    source = variable.get("valueFrom")
    value = variable.get("value")
    return source if source is not None else "" if value is None else value


def host_network(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods in the node's network, or with host ports, if the environment does not allow them."""
    if environment.limits.host_network:
        return
    reason = f"the job uses the host network, which the environment {environment.name} forbids"
    fix = "remove it, or ask the platform team for limits.host_network"
    for template in judged.templates:
        (on_node,) = places(template.body, "spec.hostNetwork")
        if on_node.value not in (None, False):
            yield Finding(on_node.where, on_node.value, reason, fix, template)
            continue
        for port in places(template.body, "spec.*.ports[].hostPort"):
            if port.value not in (None, 0):
                yield Finding(port.where, port.value, reason, fix, template)


_PINNED = re.compile(r"@sha256:[0-9a-f]{64}\Z")
NO_REFERENCE = (
    "the value is not an image reference, so the registry that it comes from is unknown",
    "write registry/path:tag or registry/path@sha256:<64 hex digits>; the path in lower case",
)


def registries(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images, also of image volumes, from a registry that the environment does not allow."""
    limits = environment.limits
    allowed = frozenset(registry.rstrip("/") for registry in limits.registries)
    for finding in _images(judged) if allowed else ():
        image = str(finding.value)
        if not matches(IMAGE, image):
            yield _add_reason(finding, *NO_REFERENCE)
        elif not _under(qualified(image), allowed):
            reason = f"the image is not from a registry that the environment allows ({list_names(limits.registries)})"
            yield _add_reason(finding, reason, f"push it to {limits.registries[0]} and use that name")


def digests(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images without a digest: a tag may be another image tomorrow."""
    for finding in _images(judged):
        if _PINNED.search(str(finding.value)) is None:
            reason = "the image is not pinned by digest, which the environment requires"
            yield _add_reason(finding, reason, "write image@sha256:… as your registry shows it")


def placeholders(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images that are the placeholder of `trainform new`."""
    for finding in _images(judged):
        if is_placeholder(str(finding.value)):
            yield _add_reason(finding, *PLACEHOLDER)


def _images(judged: Judged) -> Iterator[Finding]:
    """Yield each image as a finding without reason and fix."""
    for template, where, container in judged.containers():
        if "image" in container:
            yield Finding(f"{where}.image", container["image"], "", "", template)
    for template in judged.templates:
        for volume in template.volumes():
            if isinstance(volume.get("image"), dict):
                where = f"spec.volumes.{volume.get('name')}.image.reference"
                yield Finding(where, volume["image"].get("reference", ""), "", "", template)


def _add_reason(finding: Finding, reason: str, fix: str) -> Finding:
    return structs.replace(finding, reason=reason, fix=fix)


def _under(image: str, registries: Set[str]) -> bool:
    """Return True if the image is in one of the registries, which may be paths in a registry."""
    return any(image[: slash.start()] in registries for slash in re.finditer("/", image))
