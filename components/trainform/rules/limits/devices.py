"""Devices that a container gets without requesting them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.manifests.shapes import decoded, mapping, mappings
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

# Suffix of the variables by which container runtimes of all vendors give a container devices of the node, bypassing
# the device plugin that counts them.
ENDING = "_VISIBLE_DEVICES"
# Variables that only select among the devices that the container has.
NARROWING = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# Such variables with another suffix. A channel of IMEX opens the memory of GPUs of other nodes.
OTHERS = ("NVIDIA_IMEX_CHANNELS", "NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES")
NO_DEVICES = ("", "none", "void")
REASON = "the variable gives the container accelerators of the node that it does not ask for, and that no limit counts"
FIX = "remove it: a container sees the `accelerators` that it asks for"

# Objects whose entries containers take as variables by `envFrom`, and the fields of their entries.
SOURCES = {"ConfigMap": ("data",), "Secret": ("data", "stringData")}
ENCODED = ("Secret", "data")  # the entries are in base64


def visible(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield variables that give a container devices of the node. A privileged container has all of them anyway."""
    if environment.limits.pod_security == "privileged":
        return
    yield from _entries(judged)
    for add_on in judged.add_ons:
        for text in filter(_gives, add_on.variables):
            yield Finding(add_on.where, text, REASON, FIX, key=add_on.key)
    for template in judged.templates:
        found: dict[tuple[str, str], tuple[str, object, list[object]]] = {}
        for where, container in template.named_containers:
            for variable in mappings(container.get("env")):
                name, value = variable.get("name"), _value(variable)
                if _gives(name) and value not in NO_DEVICES:
                    path = f"{where}.env.{name}"
                    found.setdefault((str(name), repr(value)), (path, value, []))[2].append([path, variable])
        for where, value, places in found.values():
            shown = value if isinstance(value, str) else None
            yield Finding(where, shown, REASON, FIX, template, bound=places)


def _entries(judged: Judged) -> Iterator[Finding]:
    """Yield entries that are such variables in every container that takes all entries of the object."""
    for kind, fields in SOURCES.items():
        for key, body in judged.of_kind(kind):
            for field in fields:
                for name, value in mapping(body.get(field)).items():
                    given = decoded(value) if (kind, field) == ENCODED else value
                    if _gives(name) and given not in NO_DEVICES:
                        bound = [kind, value]  # no value of a Secret is shown
                        yield Finding(f"{field}.{name}", None, f"by `envFrom`, {REASON}", FIX, key=key, bound=bound)


def _gives(name: object) -> bool:
    """Return True if a variable of this name gives a container devices of the node."""
    return name in OTHERS or (isinstance(name, str) and name.endswith(ENDING) and name not in NARROWING)


def _value(variable: dict[str, Any]) -> object:
    """Return the value of the variable, or the source of its value."""
    source = variable.get("valueFrom")
    value = variable.get("value")
    return source if source is not None else "" if value is None else value
