"""Labels and annotations by which others give pods more than their specs show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

FIELDS = ("labels", "annotations")


class Key(Struct, frozen=True):
    """A key of labels and annotations. name: the whole key, its beginning if it ends in `/` or `.`, or its end if it starts with `/`. harmless: values
    that ask for nothing."""

    name: str
    does: str
    harmless: tuple[str, ...] = ()

    def has(self, key: str) -> bool:
        """True if the key is this one."""
        if self.name.endswith(("/", ".")):
            return key.startswith(self.name)
        return key.endswith(self.name) if self.name.startswith("/") else key == self.name


_NODES = "it keeps all other pods from the nodes that it takes, and chooses them itself"
_CONTAINER = "a webhook adds a container to the pods, from an image that no limit sees"
_NETWORK = "it attaches the pods to networks of the node"
_DEVICES = "the container runtime gives the pods devices and settings of the node"
_ROLE = "an agent of the nodes gives the pods the rights of a role in the cloud account"
_CPU = "the container runtime changes how the pods share the CPUs of the node with others"
# Those of CRI-O that stand alone, or with a `/` and a container after them.
_OF_CPUS = ("cpu-c-states", "cpu-freq-governor", "cpu-load-balancing", "cpu-quota", "cpu-shared", "irq-load-balancing")
# The first row that has a key judges it.
KEYS = (
    Key("/exclusive-topology", _NODES),
    Key("sidecar.istio.io/inject", _CONTAINER, ("false",)),
    Key("sidecar.istio.io/", _CONTAINER),
    Key("inject.istio.io/", _CONTAINER),
    Key("istio.io/rev", _CONTAINER),
    Key("linkerd.io/inject", _CONTAINER, ("disabled",)),
    Key("config.linkerd.io/", _CONTAINER),
    Key("config.alpha.linkerd.io/", _CONTAINER),
    Key("dapr.io/enabled", _CONTAINER, ("false",)),
    Key("dapr.io/", _CONTAINER),
    Key("vault.hashicorp.com/agent-inject", _CONTAINER, ("false",)),
    Key("vault.hashicorp.com/", _CONTAINER),
    Key("sidecar.opentelemetry.io/inject", _CONTAINER, ("false",)),
    Key("instrumentation.opentelemetry.io/", _CONTAINER, ("false",)),
    Key("kuma.io/sidecar-injection", _CONTAINER, ("disabled", "false")),
    Key("kuma.io/", _CONTAINER),
    Key("consul.hashicorp.com/connect-inject", _CONTAINER, ("false",)),
    Key("consul.hashicorp.com/", _CONTAINER),
    Key("gke-gcsfuse/volumes", _CONTAINER, ("false",)),
    Key("gke-gcsfuse/", _CONTAINER),
    Key("iam.amazonaws.com/", _ROLE),
    Key("k8s.v1.cni.cncf.io/networks", _NETWORK),
    Key("v1.multus-cni.io/default-network", _NETWORK),
    Key("cdi.k8s.io/", _DEVICES),
    Key("cdi-devices.nri.io/", _DEVICES),
    Key("devices.nri.io", _DEVICES),
    Key("devices.nri.io/", _DEVICES),
    Key("devices.noderesource.dev", _DEVICES),
    Key("devices.noderesource.dev/", _DEVICES),
    Key("mounts.nri.io", _DEVICES),
    Key("mounts.nri.io/", _DEVICES),
    Key("ulimits.nri.containerd.io", _DEVICES),
    Key("ulimits.nri.containerd.io/", _DEVICES),
    *(Key(f"{name}.crio.io{end}", _CPU) for name in _OF_CPUS for end in ("", "/")),
    Key("io.kubernetes.cri-o.", _DEVICES),
    Key("io.katacontainers.", _DEVICES),
)
FIX = "remove it, or ask the platform team for limits.metadata_keys"


def keys(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Keys of the table in the metadata of pods, of objects, and of whatever else an object makes."""
    allowed = environment.limits.metadata_keys
    in_pods = set()
    for template in judged.templates:
        for field in FIELDS:
            for key, value in mapping(mapping(template.body.get("metadata")).get(field)).items():
                in_pods.add((field, key, repr(value)))
                for row in _rows(key, value, allowed):
                    yield Finding(f"metadata.{field}.{key}", value, _reason(row), FIX, template)
    for of, body in judged.objects.items():
        for where, field, key, value in _metadata(body, ""):
            if (field, key, repr(value)) not in in_pods:
                for row in _rows(key, value, allowed):
                    yield Finding(f"{where}.{field}.{key}", value, _reason(row), FIX, key=of)


def _rows(key: str, value: object, allowed: list[str]) -> Iterator[Key]:
    """The row of the table that forbids the key with this value, if any does."""
    row = next((row for row in KEYS if row.has(str(key))), None)
    if row is not None and key not in allowed and value not in row.harmless:
        yield row


def _reason(row: Key) -> str:
    return f"the key has an effect that no limit of the environment counts: {row.does}"


def _metadata(value: Any, path: str) -> Iterator[tuple[str, str, str, Any]]:
    """Every label and annotation in an object: the path of the metadata, the field, the key and its value."""
    if isinstance(value, dict):
        for name in value:
            inner, where = value[name], f"{path}.{name}" if path else str(name)
            if name == "metadata":
                for field in FIELDS:
                    yield from ((where, field, key, each) for key, each in mapping(mapping(inner).get(field)).items())
            else:
                yield from _metadata(inner, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            named = item.get("name", index) if isinstance(item, dict) else index
            yield from _metadata(item, f"{path}.{named}")
