"""The pods of a kind that nobody has described, by their form: pod specs, containers without one around them, and parts of pods beside them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from trainform.backends.workloads import Pods
from trainform.manifests.templates import Template

OPERATOR = "what runs objects of this kind"

# Fields that a container has beside its image, in the words of Kubernetes and of those that run steps; a list may name it alone.
_BESIDE_IMAGE = frozenset(
    [
        "args",
        "command",
        "env",
        "envFrom",
        "imagePullPolicy",
        "name",
        "resources",
        "script",
        "securityContext",
        "source",
        "volumeMounts",
        "workingDir",
    ]
)
_CALLED = frozenset(["container", "script"])
# Fields of pods that open the node, whatever is around them.
_OF_HOST = frozenset(["hostIPC", "hostNetwork", "hostPID"])
# Fields that are those of pods in an object that has containers.
_OF_PODS = _OF_HOST | frozenset(
    ["nodeName", "nodeSelector", "priorityClassName", "schedulerName", "serviceAccountName", "tolerations", "volumes"]
)
_WITHOUT_PODS = (("v1", "ConfigMap"), ("v1", "Secret"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition"))

_Place = tuple[str, ...]


def searched(body: dict[str, Any]) -> Iterator[Pods]:
    """Whatever in the object has the form of a pod spec, each as one pod. A container without one is a pod too, of which `OPERATOR` has the rest, and
    so are fields of pods."""
    if (body.get("apiVersion"), body.get("kind")) in _WITHOUT_PODS:
        return
    found = [*_searched(body, ())]
    yield from found
    marks = _OF_PODS if any(pods.elsewhere for pods in found) else _OF_HOST
    yield from _parts(body, (), marks)


def _searched(value: Any, place: _Place) -> Iterator[Pods]:
    for name, inner in _items(value):
        where = (*place, name)
        if _is_pod_spec(inner):
            body, at, part = (value, place, "") if name == "spec" else ({"spec": inner}, where, "spec")
            yield Pods(Template(1, 1, body, ".".join(at), part=part))
        elif _is_container(inner, name):
            spec = {"containers": [inner]}
            part = f"spec.containers.{dict.get(inner, 'name', 0)}"
            yield Pods(Template(1, 1, {"spec": spec}, ".".join(where), part=part), OPERATOR)
        else:
            yield from _searched(inner, where)


def _parts(value: Any, place: _Place, marks: Set[str]) -> Iterator[Pods]:
    """Mappings with one of the fields, outside whole pod specs."""
    for name, inner in _items(value):
        if _is_pod_spec(inner) or _is_container(inner, name):
            continue
        where = (*place, name)
        if isinstance(inner, dict) and inner.keys() & marks:
            yield Pods(Template(1, 1, {"spec": inner}, ".".join(where), part="spec"), OPERATOR)
        yield from _parts(inner, where, marks)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """What is in a mapping or a list, each with its name. What a preview does not know has no form."""
    if isinstance(value, dict):
        yield from ((key, item) for key in value if isinstance(item := dict.get(value, key), dict | list))
    elif isinstance(value, list):
        for index in range(len(value)):
            item = list.__getitem__(value, index)
            if isinstance(item, dict | list):
                name = dict.get(item, "name") if isinstance(item, dict) else None
                yield name if isinstance(name, str) else str(index), item


def _is_pod_spec(value: Any) -> bool:
    containers = dict.get(value, "containers") if isinstance(value, dict) else None
    return isinstance(containers, list) and any("image" in item for _, item in _items(containers))


def _is_container(value: Any, name: str) -> bool:
    """name: what it is called, in its mapping or by itself."""
    if not isinstance(value, dict) or "image" not in value or isinstance(dict.get(value, "image"), dict | list):
        return False
    return name in _CALLED or bool(value.keys() & _BESIDE_IMAGE)
