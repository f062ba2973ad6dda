"""`trainform render`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    Chosen,
    ChosenEnvironmentOption,
    ExperimentArgument,
    JsonOption,
    RunOption,
    StackOption,
    choose,
)
from trainform.terminal.lines import echo, echo_json

if TYPE_CHECKING:
    from trainform.manifests.manifest import Manifest


@prints_data
def command(
    experiment: ExperimentArgument = None,
    environment: ChosenEnvironmentOption = None,
    stack: StackOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the manifests that `pulumi up` applies.

    One YAML document for each object, in the order in which they are created; with --json, one list. Without an experiment,
    the objects of the environment's own stack. `-s STACK` prints exactly what `pulumi up -s STACK` applies.
    """
    from trainform.manifests.documents import to_yaml

    manifests = _manifests(choose(experiment, environment, stack, run, alone=True))
    if as_json:
        echo_json([manifest.body for manifest in manifests])
    else:
        echo(*to_yaml(manifests).removesuffix("\n").split("\n"))


def _manifests(chosen: Chosen) -> Sequence[Manifest]:
    if chosen.experiments:
        return chosen.check().checked().manifests
    from trainform.check_platform import check_platform

    return check_platform(chosen.environments[0], chosen.root).checked().manifests
