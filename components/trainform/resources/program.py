"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import pulumi

from trainform.examine import examine, examine_environment
from trainform.project import project_root
from trainform.resources.apply import told
from trainform.resources.platform import Platform
from trainform.resources.training_job import TrainingJob
from trainform.spec.stack import NAMESPACE, run_number


def run() -> None:
    """An experiment and an environment make a job; an environment alone makes the environment's own stack."""
    root = project_root()
    config = pulumi.Config(NAMESPACE)
    environment_name, experiment_name = config.require("environment"), config.get("experiment")
    component: TrainingJob | Platform
    if not experiment_name:
        with told():
            environment = examine_environment(environment_name, root).checked()
        component = Platform(environment.name, environment)
    else:
        with told():
            number = run_number(config.get("run"))
            experiment, environment = examine(experiment_name, environment_name, number, root).checked()
        component = TrainingJob(experiment.name, experiment, environment, number)
    for key in type(component).__annotations__:
        pulumi.export(key, getattr(component, key))
