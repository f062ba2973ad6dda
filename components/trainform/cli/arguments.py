"""Arguments that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trainform import defaults
from trainform.cli import candidates

ENVIRONMENT_VARIABLE = "TRAINFORM_ENVIRONMENT"
STANDARD_INPUT = "-"
SUFFIX = "`-`: standard input."


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option whose help text states its default."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **more)


def job_argument(text: str) -> Any:
    """Return the argument that names a job; `text` is added to its help text."""
    return typer.Argument(
        metavar="JOB",
        help=f"A stack, or an experiment with -e ENV; -e is optional if only one environment has it. {text}".strip(),
        show_default=False,
        autocompletion=candidates.jobs,
    )


JobArgument = Annotated[str, job_argument(SUFFIX)]
StackJobArgument = Annotated[str, job_argument("")]
JobArguments = Annotated[list[str] | None, job_argument(f"Experiments: names, or paths of files. {SUFFIX}")]
StackJobArguments = Annotated[list[str] | None, job_argument("Default: the only stack of the project.")]


def environment_option(text: str) -> Any:
    """Return the option `--environment` with this help text."""
    return option(
        "ENV", text, "--environment", "-e", envvar=ENVIRONMENT_VARIABLE, autocompletion=candidates.environments
    )


WHICH_ENVIRONMENT = "Name in stacks/environments, or path of a file."
ChosenEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} {SUFFIX}")]
StackEnvironmentOption = Annotated[str | None, environment_option(WHICH_ENVIRONMENT)]
EnvironmentsOption = Annotated[list[str] | None, environment_option(f"{WHICH_ENVIRONMENT} May be repeated. {SUFFIX}")]


AllOption = Annotated[
    bool, typer.Option("--all", help="All stacks of the project; with -e, all in this environment, its own first.")
]
SetOption = Annotated[
    list[str] | None,
    option(
        "PATH=VALUE",
        "Try another value of the experiment, without changing a file: roles.worker.replicas=2. YAML on one line; "
        "null removes. May be repeated.",
        "--set",
    ),
]
RunOption = Annotated[
    int | None,
    option(
        "N", "Number of the run, as `run` in the stack's config. Default: 1.", "--run", min=1, max=defaults.LAST_RUN
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no notes, only results and errors.")
]
