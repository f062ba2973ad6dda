"""A sandbox: a real Kubernetes control plane on loopback with simulated nodes, for users who have no cluster at
hand."""

from __future__ import annotations

from trainform.sandbox.addons import chosen_addons
from trainform.sandbox.control import Sandbox, down, up
from trainform.sandbox.exports import exports
from trainform.sandbox.folder import chosen_folder
from trainform.sandbox.project_copy import copy_folder, copy_project
from trainform.sandbox.settings import NodePool, SandboxSettings, Taint, default_pools, settings_from_environment
from trainform.sandbox.status import SandboxStatus, status

__all__ = [
    "NodePool",
    "Sandbox",
    "SandboxSettings",
    "SandboxStatus",
    "Taint",
    "chosen_addons",
    "chosen_folder",
    "copy_folder",
    "copy_project",
    "default_pools",
    "down",
    "exports",
    "settings_from_environment",
    "status",
    "up",
]
