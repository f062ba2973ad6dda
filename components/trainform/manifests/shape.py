"""The shape that an object must keep under a merge patch of the user's, as far as rules, names and references read it.

What Kubernetes thinks of the rest of a patch only its API server can say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.spec.quantities import amount


def quantity(value: object) -> bool:
    """Whether the value is a quantity."""
    try:
        amount(str(value))
    except ValueError:
        return False
    return isinstance(value, str | int) and not isinstance(value, bool)


# A mapping's keys that end in `!` must be there; `*` is every key that is not named; a list holds the shape of its items; a function decides by itself.
CONTAINER = {
    "name!": str,
    "image!": str,
    "command": [str],
    "args": [str],
    "env": [{"name!": str}],
    "ports": [{"containerPort!": int, "name": str}],
    "resources": {"limits": {"*": quantity}, "requests": {"*": quantity}},
    "securityContext": {"capabilities": {"add": [str]}},
    "volumeMounts": [{"name!": str, "mountPath!": str}],
}
POD_TEMPLATE = {
    "metadata!": {"labels!": {"*": str}, "annotations": {"*": str}},
    "spec!": {
        "initContainers": [CONTAINER],
        "containers!": [CONTAINER],
        "volumes": [{"name!": str}],
        "hostNetwork": bool,
        "hostPID": bool,
        "hostIPC": bool,
    },
}
METADATA = {"labels!": {"*": str}, "annotations": {"*": str}}
ANY_OBJECT = {"metadata!": METADATA}
KINDS: dict[str, Any] = {
    "PersistentVolumeClaim": {
        "metadata!": METADATA,
        "spec!": {"accessModes!": [str], "resources!": {"requests!": {"storage!": quantity}}},
    },
    "ConfigMap": {"metadata!": METADATA, "data!": {"*": str}},
}
_WORDS = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
    quantity: "a quantity",
}


def intact(template: Any) -> bool:
    """Whether a pod template is one still: what a merge patch has wrecked is told once, and left as it is by all who work on it."""
    return not any(misshapen(template, POD_TEMPLATE))


def misshapen(value: Any, shape: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and reason of every part that has lost its shape."""
    wanted = type(shape) if isinstance(shape, dict | list) else shape
    if not _is(value, wanted):
        yield path, f"must be {_WORDS[wanted]}"
    elif isinstance(shape, list):
        for index, item in enumerate(value):
            yield from misshapen(item, shape[0], f"{path}[{index}]")
    elif isinstance(shape, dict):
        for key, below in shape.items():
            for name in _others(value, shape) if key == "*" else [key.rstrip("!")]:
                where = f"{path}.{name}" if path else name
                if name in value:
                    yield from misshapen(value[name], below, where)
                elif key.endswith("!"):
                    yield where, "is missing"


def _others(value: dict[str, Any], shape: dict[str, Any]) -> list[str]:
    named = {key.rstrip("!") for key in shape}
    return [name for name in value if name not in named]


def _is(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, type):
        return bool(wanted(value))
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
