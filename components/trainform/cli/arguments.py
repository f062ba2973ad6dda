"""Arguments that verbs share, and what they name: which experiment in which environment."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.catalog import defaults
from trainform.cli import candidates
from trainform.errors import CommandLineError

if TYPE_CHECKING:
    from trainform.examine import Examined
    from trainform.spec.load import Given

ENVIRONMENT_VARIABLE = "TRAINFORM_ENVIRONMENT"
STANDARD_INPUT = "-"
SUFFIX = "`-`: standard input."

ExperimentArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"Name in stacks/experiments, or path of a file. {SUFFIX}",
        show_default=False,
        autocompletion=candidates.experiments,
    ),
]
ExperimentArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"Names in stacks/experiments, or paths of files. {SUFFIX}",
        show_default=False,
        autocompletion=candidates.experiments,
    ),
]


def environment_option(text: str) -> typer.models.OptionInfo:
    """`--environment`, with what the verb does with it."""
    option: typer.models.OptionInfo = typer.Option(
        "--environment",
        "-e",
        metavar="ENV",
        envvar=ENVIRONMENT_VARIABLE,
        help=text,
        show_default=False,
        autocompletion=candidates.environments,
    )
    return option


WHICH_ENVIRONMENT = "Name in stacks/environments, or path of a file."
EnvironmentOption = Annotated[str, environment_option(WHICH_ENVIRONMENT)]
ChosenEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} {SUFFIX}")]


def stack_option(several: str = "") -> typer.models.OptionInfo:
    """`--stack`, with what else the verb does with it."""
    option: typer.models.OptionInfo = typer.Option(
        "--stack",
        "-s",
        metavar="STACK",
        help=f"In place of EXPERIMENT, -e and --run: what stacks/Pulumi.STACK.yaml names.{several}",
        show_default=False,
        autocompletion=candidates.stacks,
    )
    return option


StackOption = Annotated[str | None, stack_option()]
StacksOption = Annotated[list[str] | None, stack_option(" Once for each stack; an environment's own is one, too.")]
RunOption = Annotated[
    int | None,
    typer.Option(
        "--run",
        metavar="N",
        min=1,
        max=defaults.LAST_RUN,
        help="Number of the run, as `run` in the stack's config. Default: 1.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document; errors too.")]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file, all or nothing. `-`: standard output.",
        show_default=False,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes. Errors are still printed.")]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What is asked for: experiments in an environment, and from where paths count (None: the current folder)."""

    experiments: tuple[Given, ...]
    environment: Given
    run: int = 1
    root: Path | None = None

    def examine(self) -> Examined:
        """The one experiment."""
        from trainform.examine import examine

        return examine(self.experiments[0], self.environment, self.run, self.root)


def choose(
    given: str | list[str] | None, environment: str | None, stack: str | None = None, run: int | None = None
) -> Chosen:
    """What the words of the command name; CommandLineError where they name nothing, or two things."""
    experiments = [] if given is None else [given] if isinstance(given, str) else list(given)
    if stack is not None:
        return _of_stack(stack, experiments, environment, run)
    if not experiments:
        raise CommandLineError("Missing argument 'EXPERIMENT'", "name an experiment, or a stack with -s")
    if environment is None:
        raise CommandLineError(
            "Missing option '--environment' / '-e'",
            f"name an environment with -e or in {ENVIRONMENT_VARIABLE}, or a stack with -s",
        )
    if [*experiments, environment].count(STANDARD_INPUT) > 1:
        raise CommandLineError("only one file can come from standard input", "give a name or a path for the others")
    return Chosen(tuple(map(from_input, experiments)), from_input(environment), 1 if run is None else run)


def _of_stack(stack: str, experiments: list[str], environment: str | None, run: int | None) -> Chosen:
    from trainform.project import project_root, require_project
    from trainform.spec.stack import load_stack

    by_shell = environment == os.environ.get(ENVIRONMENT_VARIABLE)  # it is for the commands without -s
    others = {
        "EXPERIMENT": bool(experiments),
        "-e": environment is not None and not by_shell,
        "--run": run is not None,
    }
    doubled = [name for name, given in others.items() if given]
    if doubled:
        raise CommandLineError(f"-s does not go with {', '.join(doubled)}", "the stack names all of them: give either")
    root = project_root()
    require_project(root)
    found = load_stack(stack, root)
    return Chosen((found.experiment,), found.environment, found.run, root)


def from_input(given: str) -> Given:
    """The name or path as it is; in place of `-` the text on standard input."""
    if given != STANDARD_INPUT:
        return given
    from trainform.spec import files
    from trainform.spec.load import Text
    from trainform.terminal.lines import note, reads_from_a_person

    if reads_from_a_person():
        note("trainform: reading from the terminal; Ctrl-D on an empty line ends it", err=True)
    return Text(files.STANDARD_INPUT, files.read_standard_input())
