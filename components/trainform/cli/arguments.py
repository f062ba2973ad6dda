"""Arguments that commands share, and the experiment and environment that they name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from trainform import defaults
from trainform.cli import candidates
from trainform.errors import CommandLineError

if TYPE_CHECKING:
    from trainform.job.check import CheckedJob
    from trainform.spec.load import Given

ENVIRONMENT_VARIABLE = "TRAINFORM_ENVIRONMENT"
STANDARD_INPUT = "-"
SUFFIX = "`-`: standard input."


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option whose help text states its default."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **more)


def _experiments(text: str) -> Any:
    return typer.Argument(
        metavar="EXPERIMENT", help=f"{text} {SUFFIX}", show_default=False, autocompletion=candidates.experiments
    )


ExperimentArgument = Annotated[str | None, _experiments("Name in stacks/experiments, or path of a file.")]
ExperimentArguments = Annotated[list[str] | None, _experiments("Names in stacks/experiments, or paths of files.")]


def environment_option(text: str) -> Any:
    """Return the option `--environment` with this help text."""
    return option(
        "ENV", text, "--environment", "-e", envvar=ENVIRONMENT_VARIABLE, autocompletion=candidates.environments
    )


WHICH_ENVIRONMENT = "Name in stacks/environments, or path of a file."
EnvironmentOption = Annotated[str, environment_option(WHICH_ENVIRONMENT)]
ChosenEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} {SUFFIX}")]
EnvironmentsOption = Annotated[list[str] | None, environment_option(f"{WHICH_ENVIRONMENT} May be repeated. {SUFFIX}")]


def stack_option(several: str = "") -> Any:
    """Return the option `--stack`; `several` is added to its help text."""
    text = f"Use experiment, environment and run of stacks/Pulumi.STACK.yaml.{several}"
    return option("STACK", text, "--stack", "-s", autocompletion=candidates.stacks)


StackOption = Annotated[str | None, stack_option()]
StacksOption = Annotated[list[str] | None, stack_option(" May be repeated; also for an environment's own stack.")]
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, also for errors.")]
OutputOption = Annotated[
    str | None, option("FILE", "Write to this file, atomically. `-`: standard output.", "--output", "-o")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no notes, only results and errors.")
]


class Chosen(Struct, frozen=True):
    """The experiments and environments that the arguments name."""

    experiments: tuple[Given, ...]
    """Empty: the environments alone."""
    environments: tuple[Given, ...]
    run: int = 1
    root: Path | None = None
    """Base of relative paths, None for the current folder."""

    def check(self) -> CheckedJob:
        """Check the first experiment in the first environment, with every problem of both."""
        from trainform.job.check import check_experiment

        return check_experiment(self.experiments[0], self.environments[0], self.run, self.root)


def choose(
    given: str | list[str] | None,
    environment: str | list[str] | None,
    stack: str | None = None,
    run: int | None = None,
    *,
    alone: bool = False,
) -> Chosen:
    """Return the experiments and environments that the arguments name.

    Raises `CommandLineError` if something is missing or given twice. alone: accept environments without an experiment;
    otherwise an environment's own stack raises `InputError`."""
    experiments, environments = _as_list(given), _environments(environment)
    if stack is not None:
        return _choose_stack(stack, experiments, environments, run, alone)
    if not experiments and not (alone and environments):
        other = "an environment alone with -e, or a stack with -s" if alone else "or a stack with -s"
        raise CommandLineError("Missing argument 'EXPERIMENT'", f"name an experiment, {other}")
    if not environments:
        raise CommandLineError(
            "Missing option '--environment' / '-e'",
            f"name an environment with -e or in {ENVIRONMENT_VARIABLE}, or a stack with -s",
        )
    if not experiments and run is not None:
        raise CommandLineError(
            "--run counts the runs of an experiment, and none is named", "name an experiment, or remove --run"
        )
    if [*experiments, *environments].count(STANDARD_INPUT) > 1:
        raise CommandLineError("only one file can come from standard input", "give a name or a path for the others")
    return Chosen(tuple(map(from_input, experiments)), tuple(map(from_input, environments)), 1 if run is None else run)


def _as_list(given: str | list[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _environments(given: str | list[str] | None) -> list[str]:
    """Return each environment once. TRAINFORM_ENVIRONMENT is one path; typer would split it at spaces."""
    environments = _as_list(given)
    variable = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return [variable] if variable and environments == variable.split() else list(dict.fromkeys(environments))


def _choose_stack(stack: str, experiments: list[str], environments: list[str], run: int | None, alone: bool) -> Chosen:
    from trainform.project import project_root, require_project
    from trainform.spec.stack import OwnStackError, load_stack

    from_shell = environments == [os.environ.get(ENVIRONMENT_VARIABLE)]  # the variable is for commands without -s
    others = {"EXPERIMENT": experiments, "-e": environments and not from_shell, "--run": run is not None}
    given = [name for name, is_given in others.items() if is_given]
    if given:
        fix = "the stack names all of them: use only one"
        raise CommandLineError(f"-s cannot be used with {', '.join(given)}", fix)
    root = project_root()
    require_project(root)
    try:
        found = load_stack(stack, root)
    except OwnStackError as error:
        if not alone:
            raise
        return Chosen((), (error.environment,), root=root)
    return Chosen((found.given,), (found.environment,), found.run, root)


def from_input(given: str) -> Given:
    """Return the name or path, or the text of standard input for `-`."""
    if given != STANDARD_INPUT:
        return given
    from trainform.console.lines import note, stdin_is_terminal
    from trainform.spec import files
    from trainform.spec.load import Text

    if stdin_is_terminal():
        note("trainform: reading from the terminal; Ctrl-D on an empty line ends the input", err=True)
    return Text(files.STANDARD_INPUT, files.read_standard_input())
