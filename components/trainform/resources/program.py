"""A stack's config to its resources: what `stacks/__main__.py` calls."""

from __future__ import annotations

import pulumi

from trainform.errors import TrainformError
from trainform.resources.apply import cluster_provider
from trainform.resources.platform import Platform
from trainform.resources.training_job import TrainingJob
from trainform.spec.load import load_environment, load_experiment

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
    environment = load_environment(config.require("environment")).checked()
    provider = cluster_provider("cluster", environment.cluster.context)
    options = pulumi.ResourceOptions(providers=None if provider is None else [provider])
    experiment_name = config.get("experiment")
    if not experiment_name:
        platform = Platform(environment.name, environment, options)
        for key in ("namespace", "queues", "kept_claims"):
            pulumi.export(key, getattr(platform, key))
        return
    experiment = load_experiment(experiment_name).checked()
    run_number = config.get_int("run")
    job = TrainingJob(experiment.name, experiment, environment, 1 if run_number is None else run_number, options)
    for key in TrainingJob.__annotations__:
        pulumi.export(key, getattr(job, key))
