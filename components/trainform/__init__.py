"""Distributed training jobs as infrastructure code.

Everything but the errors is loaded on first use: the command line starts fast, and the models work without Pulumi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainform.errors import ClusterError, InputError, Problem, SandboxError, ToolchainError, TrainformError

if TYPE_CHECKING:
    from trainform.backends import job_manifests, plan_job
    from trainform.plan import Plan
    from trainform.resources import (
        Platform,
        Rendezvous,
        RoleGroup,
        SharedStorage,
        SshIdentity,
        TrainingJob,
        TrainingQueue,
    )
    from trainform.spec import Environment, Experiment

__all__ = [
    "ClusterError",
    "Environment",
    "Experiment",
    "InputError",
    "Plan",
    "Platform",
    "Problem",
    "Rendezvous",
    "RoleGroup",
    "SandboxError",
    "SharedStorage",
    "SshIdentity",
    "ToolchainError",
    "TrainformError",
    "TrainingJob",
    "TrainingQueue",
    "job_manifests",
    "plan_job",
]

# Name -> module that has it, for what is loaded on first use.
_ON_FIRST_USE = {
    "Environment": "trainform.spec",
    "Experiment": "trainform.spec",
    "Plan": "trainform.plan",
    "Platform": "trainform.resources",
    "Rendezvous": "trainform.resources",
    "RoleGroup": "trainform.resources",
    "SharedStorage": "trainform.resources",
    "SshIdentity": "trainform.resources",
    "TrainingJob": "trainform.resources",
    "TrainingQueue": "trainform.resources",
    "job_manifests": "trainform.backends",
    "plan_job": "trainform.backends",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ON_FIRST_USE[name]), name)
