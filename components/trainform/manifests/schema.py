"""Schemas that an object must satisfy after the user's merge patch: they have the fields that rules, names and references read.

The API server checks all other fields of a patch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.spec.quantities import amount


def quantity(value: object) -> bool:
    """True if the value is a quantity of Kubernetes."""
    try:
        amount(str(value))
    except ValueError:
        return False
    return isinstance(value, str | int) and not isinstance(value, bool)


# In a mapping a key that ends in `!` is required, and `*` is every key that is not named. A list holds the schema of its items. A function
# returns whether a value is valid.
CONTAINER = {
    "name!": str,
    "image!": str,
    "command": [str],
    "args": [str],
    "env": [{"name!": str, "value": str}],
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


def is_pod_template(template: Any) -> bool:
    """True if the template satisfies `POD_TEMPLATE`. The check reports violations once; all other code leaves such a template unchanged."""
    return not any(violations(template, POD_TEMPLATE))


def violations(value: Any, schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and reason of every part of the value that violates the schema."""
    expected = type(schema) if isinstance(schema, dict | list) else schema
    if not _is(value, expected):
        yield path, f"must be {_WORDS[expected]}"
    elif isinstance(schema, list):
        for index, item in enumerate(value):
            yield from violations(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, dict):
        for key, field_schema in schema.items():
            for name in _keys_without_schema(value, schema) if key == "*" else [key.rstrip("!")]:
                field_path = f"{path}.{name}" if path else name
                if name in value:
                    yield from violations(value[name], field_schema, field_path)
                elif key.endswith("!"):
                    yield field_path, "is missing"


def _keys_without_schema(value: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    named = {key.rstrip("!") for key in schema}
    return [name for name in value if name not in named]


def _is(value: Any, expected: Any) -> bool:
    """True if the value is of the expected type, or if the function accepts it. In Python True is a number too, but not here."""
    if not isinstance(expected, type):
        return bool(expected(value))
    return isinstance(value, expected) and (expected is bool or not isinstance(value, bool))
