"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import re

import pulumi

from trainform.errors import InputError, Problem
from trainform.examine import examine, examine_environment
from trainform.resources.apply import told
from trainform.resources.platform import Platform
from trainform.resources.training_job import TrainingJob
from trainform.spec.load import project_root

CONFIG = "trainform"


def run() -> None:
    """An experiment and an environment make a job; an environment alone makes the environment's own stack."""
    root = project_root()
    config = pulumi.Config(CONFIG)
    environment_name, experiment_name = config.require("environment"), config.get("experiment")
    component: TrainingJob | Platform
    if not experiment_name:
        with told():
            environment = examine_environment(environment_name, root).checked()
        component = Platform(environment.name, environment)
    else:
        with told():
            number = _run_number(config.get("run"))
            experiment, environment = examine(experiment_name, environment_name, number, root).checked()
        component = TrainingJob(experiment.name, experiment, environment, number)
    for key in type(component).__annotations__:
        pulumi.export(key, getattr(component, key))


def _run_number(written: str | None) -> int:
    """`run` of the stack's config; 1 where it says nothing."""
    if written is not None and re.fullmatch("[1-9][0-9]{0,8}", written) is None:
        reason, fix = "is not a whole number from 1 to 999999999", f"pulumi config set {CONFIG}:run 2"
        raise InputError([Problem(f"{CONFIG}:run", written, reason, fix)])
    return 1 if written is None else int(written)
