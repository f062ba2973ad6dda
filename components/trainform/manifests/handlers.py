"""Probes and hooks of a container: what its kubelet runs or asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.spec.merge_patch import merge_patch

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
HANDLERS = (*PROBES, *(f"lifecycle.{hook}" for hook in _HOOKS))
"""Their places in a container."""
ASKING = ("httpGet", "tcpSocket")
"""The ways to ask at a port, which may be named."""
NAMED_PORT = tuple(f".{way}.port" for way in ASKING)
"""How the places of these ports end."""


def handlers(container: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The probes and hooks that the container has, by their places."""
    holders = {"": container, "lifecycle": mapping(container.get("lifecycle"))}
    found = {}
    for place in HANDLERS:
        above, _, field = place.rpartition(".")
        if field in holders[above]:
            found[place] = mapping(holders[above][field])
    return found


def named_ports(container: Mapping[str, Any]) -> dict[str, str]:
    """The names of ports at which probes and hooks ask, by the places of these names."""
    asked = {
        f"{place}.{way}.port": mapping(handler.get(way)).get("port")
        for place, handler in handlers(container).items()
        for way in ASKING
    }
    return {place: port for place, port in asked.items() if isinstance(port, str)}


def with_port_names(container: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The container whose probes and hooks ask at ports under their other names."""
    for place, port in named_ports(container).items():
        patch: Any = names.get(port, port)
        for key in reversed(place.split(".")):
            patch = {key: patch}
        container = merge_patch(container, patch)
    return container
