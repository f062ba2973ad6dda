"""Labels and annotations that make webhooks, agents and runtimes give pods more than their specs show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

FIELDS = ("labels", "annotations")
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
_KNOWN = re.compile("|".join(f"{re.escape(part)}\\Z" if part[0] == "/" else f"^{re.escape(part)}" for part in KEYS))
FIX = "remove it, or ask the platform team for limits.metadata_keys"


def keys(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield keys of the table in the metadata of pods, of objects, and of templates inside objects."""
    in_pods = set()
    for template in judged.templates:
        for _, field, key, value in _metadata({"metadata": template.body.get("metadata")}, ""):
            in_pods.add((field, key, repr(value)))
            for reason in _reasons(key, value, environment):
                yield Finding(f"metadata.{field}.{key}", value, reason, FIX, template)
    for owner, body in judged.objects.items():
        for where, field, key, value in _metadata(body, ""):
            if (field, key, repr(value)) not in in_pods:
                for reason in _reasons(key, value, environment):
                    yield Finding(f"{where}.{field}.{key}", value, reason, FIX, key=owner)


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
                for field in FIELDS:
                    yield from ((where, field, key, each) for key, each in mapping(mapping(inner).get(field)).items())
            elif isinstance(inner, dict | list):
                yield from _metadata(inner, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            named = item.get("name", index) if isinstance(item, dict) else index
            yield from _metadata(item, f"{path}.{named}")
