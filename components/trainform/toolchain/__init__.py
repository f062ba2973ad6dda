"""The programs that trainform runs: found on this machine, downloaded, or built from pinned sources into a cache."""

from __future__ import annotations

from trainform.toolchain.addons import ensure_addons
from trainform.toolchain.ensure import (
    PendingWork,
    ensure,
    ensure_control_plane,
    ensure_pulumi,
    environment,
    pending_work,
)
from trainform.toolchain.model import BuiltPart, ControlPlane, PulumiTools, Toolchain
from trainform.toolchain.parts import build_time
from trainform.toolchain.releases import DOWNLOAD_GB

__all__ = [
    "DOWNLOAD_GB",
    "BuiltPart",
    "ControlPlane",
    "PendingWork",
    "PulumiTools",
    "Toolchain",
    "build_time",
    "ensure",
    "ensure_addons",
    "ensure_control_plane",
    "ensure_pulumi",
    "environment",
    "pending_work",
]
