"""`trainform render`."""

from __future__ import annotations

from trainform.backends import job_manifests
from trainform.cli.arguments import EnvironmentOption, ExperimentArgument, RunOption
from trainform.examine import examine
from trainform.manifests.documents import to_yaml
from trainform.terminal.lines import echo


def command(experiment: ExperimentArgument, environment: EnvironmentOption, run: RunOption = 1) -> None:
    """Print the manifests that `pulumi up` applies, as YAML documents."""
    documents = to_yaml(job_manifests(examine(experiment, environment, run).plan()))
    echo(*documents.removesuffix("\n").split("\n"))
