"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import pulumi

from trainform.errors import TrainformError
from trainform.examine import examine, examine_environment
from trainform.resources.apply import cluster_provider
from trainform.resources.platform import Platform
from trainform.resources.training_job import TrainingJob
from trainform.spec.environment import Environment
from trainform.spec.load import project_root

CONFIG = "trainform"


def run() -> None:
    """An experiment and an environment make a job; an environment alone makes the environment's own stack."""
    try:
        _run()
    except TrainformError as error:
        # RunError is printed without a stack trace
        raise pulumi.RunError(f"\n{error}") from None


def _run() -> None:
    config = pulumi.Config(CONFIG)
    root = project_root()
    environment_name, experiment_name = config.require("environment"), config.get("experiment")
    if not experiment_name:
        environment = examine_environment(environment_name, root).checked()
        platform = Platform(environment.name, environment, _options(environment))
        for key in Platform.__annotations__:
            pulumi.export(key, getattr(platform, key))
        return
    run_number = config.get_int("run")
    run = 1 if run_number is None else run_number
    experiment, environment = examine(experiment_name, environment_name, run, root).checked()
    job = TrainingJob(experiment.name, experiment, environment, run, _options(environment))
    for key in TrainingJob.__annotations__:
        pulumi.export(key, getattr(job, key))


def _options(environment: Environment) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(providers=[cluster_provider("cluster", environment.cluster.context)])
