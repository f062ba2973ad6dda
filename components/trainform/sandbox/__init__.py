"""A real control plane on loopback with simulated nodes: the cluster for those who have none at hand."""

from __future__ import annotations

from trainform.sandbox.addons import chosen_addons
from trainform.sandbox.control import Sandbox, down, up
from trainform.sandbox.exports import exports, is_evaluated
from trainform.sandbox.folder import chosen_folder
from trainform.sandbox.project_copy import copy_folder, copy_project
from trainform.sandbox.salts import REMEDY, note_older_salts, stacks_of
from trainform.sandbox.settings import NodePool, SandboxSettings, Taint, default_pools, from_environment
from trainform.sandbox.status import SandboxStatus, status

__all__ = [
    "REMEDY",
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
    "from_environment",
    "is_evaluated",
    "note_older_salts",
    "stacks_of",
    "status",
    "up",
]
