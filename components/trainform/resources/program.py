"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import pulumi

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
        run_number = config.get_int("run")
        number = 1 if run_number is None else run_number
        with told():
            experiment, environment = examine(experiment_name, environment_name, number, root).checked()
        component = TrainingJob(experiment.name, experiment, environment, number)
    for key in type(component).__annotations__:
        pulumi.export(key, getattr(component, key))
