"""Devices that a container gets beside what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.manifests.shapes import mappings
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

# Variables by which the container runtimes of vendors give a container devices of the node, past the device plugin that counts them.
VISIBLE = (
    "AMD_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "HABANA_VISIBLE_DEVICES",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)
NO_DEVICES = ("", "none", "void")


def visible(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Variables that give a container devices of the node; one finding for each value of a pod template. A privileged container has all devices
    anyway."""
    if environment.limits.pod_security == "privileged":
        return
    reason = (
        "the variable gives the container accelerators of the node that it does not ask for, and that no limit counts"
    )
    fix = "remove it: a container sees the `accelerators` that it asks for"
    for template in judged.templates:
        found: dict[tuple[str, str], tuple[str, object, list[object]]] = {}
        for where, container in template.named_containers():
            for variable in mappings(container.get("env")):
                name, value = variable.get("name"), _value(variable)
                if name in VISIBLE and value not in NO_DEVICES:
                    path = f"{where}.env.{name}"
                    found.setdefault((str(name), repr(value)), (path, value, []))[2].append([path, variable])
        for where, value, places in found.values():
            shown = value if isinstance(value, str) else None
            yield Finding(where, shown, reason, fix, template, bound=places)


def _value(variable: dict[str, Any]) -> object:
    """What the variable is, or where its value comes from."""
    source = variable.get("valueFrom")
    value = variable.get("value")
    return source if source is not None else "" if value is None else value
