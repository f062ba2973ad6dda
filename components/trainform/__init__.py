"""Distributed training jobs as infrastructure code.

CONTRIBUTING.md says what is in each package, and in which order to read them.

All names except the errors are imported on first use, so that the command line starts fast and the models work without
Pulumi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainform.errors import ClusterError, InputError, Problem, SandboxError, ToolchainError, TrainformError

if TYPE_CHECKING:
    from trainform.job.check import check_environment, check_experiment
    from trainform.job.render import job_manifests, render_job
    from trainform.plan.model import Plan
    from trainform.resources.components import Rendezvous, RoleGroup, SharedStorage, TrainingQueue
    from trainform.resources.platform import Platform
    from trainform.resources.ssh_identity import SshIdentity
    from trainform.resources.training_job import TrainingJob
    from trainform.running.model import JobStatus
    from trainform.running.status import status
    from trainform.spec.environment import Environment
    from trainform.spec.experiment import Experiment
    from trainform.spec.queue_fields import QueueRequest
    from trainform.spec.storage import ClaimRequest

__all__ = [
    "ClaimRequest",
    "ClusterError",
    "Environment",
    "Experiment",
    "InputError",
    "JobStatus",
    "Plan",
    "Platform",
    "Problem",
    "QueueRequest",
    "Rendezvous",
    "RoleGroup",
    "SandboxError",
    "SharedStorage",
    "SshIdentity",
    "ToolchainError",
    "TrainformError",
    "TrainingJob",
    "TrainingQueue",
    "check_environment",
    "check_experiment",
    "job_manifests",
    "render_job",
    "status",
]

# Name -> its module.
_LAZY_IMPORTS = {
    "ClaimRequest": "trainform.spec.storage",
    "Environment": "trainform.spec.environment",
    "Experiment": "trainform.spec.experiment",
    "JobStatus": "trainform.running.model",
    "Plan": "trainform.plan.model",
    "Platform": "trainform.resources.platform",
    "QueueRequest": "trainform.spec.queue_fields",
    "Rendezvous": "trainform.resources.components",
    "RoleGroup": "trainform.resources.components",
    "SharedStorage": "trainform.resources.components",
    "SshIdentity": "trainform.resources.ssh_identity",
    "TrainingJob": "trainform.resources.training_job",
    "TrainingQueue": "trainform.resources.components",
    "check_environment": "trainform.job.check",
    "check_experiment": "trainform.job.check",
    "job_manifests": "trainform.job.render",
    "render_job": "trainform.job.render",
    "status": "trainform.running.status",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY_IMPORTS[name]), name)
