"""`trainform render`."""

from __future__ import annotations

import typer

from trainform.backends import job_manifests
from trainform.cli.arguments import EnvironmentOption, ExperimentArgument, RunOption
from trainform.examine import examine
from trainform.manifests.documents import to_yaml


def command(experiment: ExperimentArgument, environment: EnvironmentOption, run: RunOption = 1) -> None:
    """Print the manifests that `pulumi up` applies, as YAML documents."""
    typer.echo(to_yaml(job_manifests(examine(experiment, environment, run).plan())), nl=False)
