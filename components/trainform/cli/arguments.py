"""Arguments that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trainform import defaults
from trainform.cli import candidates
from trainform.errors import InputError, Problem

ENVIRONMENT_VARIABLE = "TRAINFORM_ENVIRONMENT"
STANDARD_INPUT = "-"
SUFFIX = "`-`: standard input."


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option whose help text states its default."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **more)


def argument(metavar: str, text: str, complete: Any = None) -> Any:
    """Return an argument whose help text states its default."""
    return typer.Argument(metavar=metavar, help=text, show_default=False, autocompletion=complete)


def seconds_of(name: str, duration: str) -> int:
    """Return the value of an option such as `90s` in seconds."""
    from trainform.spec.quantities import DURATION_HINT, seconds

    try:
        return seconds(duration)
    except (ValueError, ArithmeticError):
        raise InputError([Problem(name, duration, "is not a duration", DURATION_HINT)]) from None


JOB = "JOB"
WHICH_JOB = "A stack, or an experiment with -e ENV; -e is optional if only one environment has it."
JobArgument = Annotated[str, argument(JOB, f"{WHICH_JOB} {SUFFIX}", candidates.jobs)]
StackJobArgument = Annotated[str, argument(JOB, WHICH_JOB, candidates.jobs)]
StackJobArguments = Annotated[
    list[str] | None, argument(JOB, f"{WHICH_JOB} Default: the only stack of the project.", candidates.jobs)
]


def environment_option(text: str) -> Any:
    """Return the option `--environment` with this help text."""
    return option(
        "ENV", text, "--environment", "-e", envvar=ENVIRONMENT_VARIABLE, autocompletion=candidates.environments
    )


WHICH_ENVIRONMENT = "Name in stacks/environments, or path of a file."
ChosenEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} {SUFFIX}")]
StackEnvironmentOption = Annotated[str | None, environment_option(WHICH_ENVIRONMENT)]
JobsEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} Of experiments, or of --all.")]
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
