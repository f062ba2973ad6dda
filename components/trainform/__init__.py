"""Distributed training jobs as infrastructure code.

The way of a job, each step in a folder or file of its own, which imports only what stands above it:

    spec              two files of YAML to two models, with every problem and its line
    plan              what will run: roles, ranks, ports, variables, launch scripts
    manifests         the built-in Kubernetes kinds as plain dicts
    rules             what makes an experiment or an environment invalid
    backends          the custom resources, a folder per operator
    objects           plan and objects in one pass, no rule asked; so is made again what is deployed
    revision          which change makes a new revision
    render            all of the above in one pass; `render_platform` for an environment's own objects
    check_files       a file by itself, with its problems
    check             the same for two files, with the problems of both
    check_platform    the same for an environment's file alone
    cluster           what is asked of the live cluster before a change
    deployed          what is deployed on the live cluster, from its records
    report_part       what the models of all reports have in common
    releases          what was deployed in one stack, as a file that others run
    review            a preview as a report: what happens, findings, cost, capacity
    comparison        versions of an experiment beside each other
    drift             live objects beside the deployed ones, as a report
    promotion         a promotion before anything is written
    saved             a review that is saved, and what has moved since, for `trainform apply`
    resources         the components of Pulumi
    cli               the command `trainform`

Beside the way: `sandbox` (a control plane on this machine, from the binaries of `toolchain`), `rehearsal` (the job's
pods as containers), `policy_pack` (the limits of an environment for Pulumi's engine), `github` (a review as comments on
a pull request), `scaffold` (files that `trainform init` and `new` write), `doctor` (what this machine lacks), `ssh`
(keys and their files). Small and below all others: `defaults`, `errors`, `escaping`, `secrets`, `project`, `atomic`,
`locking`, `progress`, `signals`, `terminal`.

All names except the errors are imported on first use, so that the command line starts fast and the models work without
Pulumi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainform.errors import ClusterError, InputError, Problem, SandboxError, ToolchainError, TrainformError

if TYPE_CHECKING:
    from trainform.check import check_experiment
    from trainform.check_files import check_environment
    from trainform.objects import job_manifests
    from trainform.plan import Plan
    from trainform.render import render_job
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
    "check_environment",
    "check_experiment",
    "job_manifests",
    "render_job",
]

# Name -> its module.
_LAZY_IMPORTS = {
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
    "check_environment": "trainform.check_files",
    "check_experiment": "trainform.check",
    "job_manifests": "trainform.objects",
    "render_job": "trainform.render",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY_IMPORTS[name]), name)
