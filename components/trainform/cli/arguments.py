"""Arguments that verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.catalog import defaults

ExperimentArgument = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="Name in stacks/experiments, or path of a file.", show_default=False)
]
ExperimentArguments = Annotated[
    list[str],
    typer.Argument(metavar="EXPERIMENT...", help="Names in stacks/experiments, or paths of files.", show_default=False),
]
EnvironmentOption = Annotated[
    str,
    typer.Option(
        "--environment",
        "-e",
        metavar="ENV",
        envvar="TRAINFORM_ENVIRONMENT",
        help="Name in stacks/environments, or path of a file.",
        show_default=False,
    ),
]
RunOption = Annotated[
    int,
    typer.Option("--run", min=1, max=defaults.LAST_RUN, help="Number of the run, as `run` in the stack's config."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
