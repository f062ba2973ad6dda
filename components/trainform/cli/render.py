"""`trainform render`."""

from __future__ import annotations

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    ChosenEnvironmentOption,
    ExperimentArgument,
    JsonOption,
    RunOption,
    StackOption,
    choose,
)
from trainform.terminal.lines import echo, echo_json


@prints_data
def command(
    experiment: ExperimentArgument = None,
    environment: ChosenEnvironmentOption = None,
    stack: StackOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the manifests that `pulumi up` applies.

    One YAML document for each object, in the order in which they are made; with --json one list. `-s STACK` prints
    exactly what `pulumi up -s STACK` applies.
    """
    from trainform.backends import job_manifests
    from trainform.manifests.documents import to_yaml

    manifests = job_manifests(choose(experiment, environment, stack, run).examine().plan())
    if as_json:
        echo_json([manifest.body for manifest in manifests])
    else:
        echo(*to_yaml(manifests).removesuffix("\n").split("\n"))
