"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import re

import pulumi

from trainform.catalog import defaults
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
    if written is None:
        return 1
    digits = len(str(defaults.LAST_RUN))
    number = int(written) if re.fullmatch(f"[0-9]{{1,{digits}}}", written) else 0
    if not 1 <= number <= defaults.LAST_RUN:
        reason, fix = f"is not a whole number from 1 to {defaults.LAST_RUN}", f"pulumi config set {CONFIG}:run 2"
        raise InputError([Problem(f"{CONFIG}:run", written, reason, fix)])
    return number
