"""The binaries that trainform drives: found on this machine, downloaded, or built from pinned sources into a cache."""

from __future__ import annotations

from trainform.toolchain.addons import ensure_addons
from trainform.toolchain.ensure import ensure, ensure_control_plane, ensure_pulumi, environment
from trainform.toolchain.model import BuiltPart, ControlPlane, PulumiTools, Toolchain

__all__ = [
    "BuiltPart",
    "ControlPlane",
    "PulumiTools",
    "Toolchain",
    "ensure",
    "ensure_addons",
    "ensure_control_plane",
    "ensure_pulumi",
    "environment",
]
