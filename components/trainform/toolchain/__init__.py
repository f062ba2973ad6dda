"""The binaries that trainform drives: found on this machine, downloaded, or built from pinned sources into a cache."""

from __future__ import annotations

from trainform.toolchain.ensure import ensure, ensure_control_plane, ensure_pulumi, environment
from trainform.toolchain.model import ControlPlane, PulumiTools, Toolchain

__all__ = [
    "ControlPlane",
    "PulumiTools",
    "Toolchain",
    "ensure",
    "ensure_control_plane",
    "ensure_pulumi",
    "environment",
]
