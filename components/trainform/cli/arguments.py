"""Arguments that commands share, and the forms of output: sections for people, and data for programs.

Values from a cluster, a file or Pulumi's backend may hold a secret: everything is masked before it is printed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform.cli import candidates
from trainform.console.files import OPTION
from trainform.console.lines import echo, echo_json, terminal_width
from trainform.errors import InputError, Problem

if TYPE_CHECKING:
    from trainform.console.sections import Section

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
JOBS = f"{WHICH_JOB} Default: the only stack of the project."
StackJobArguments = Annotated[list[str] | None, argument(JOB, JOBS, candidates.jobs)]


def environment_option(text: str) -> Any:
    """Return the option `--environment` with this help text."""
    return option("ENV", text, "--environment", "-e", autocompletion=candidates.environments)


WHICH_ENVIRONMENT = "Name in stacks/environments, or path of a file."
ChosenEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} {SUFFIX}")]
StackEnvironmentOption = Annotated[str | None, environment_option(WHICH_ENVIRONMENT)]
JobsEnvironmentOption = Annotated[str | None, environment_option(f"{WHICH_ENVIRONMENT} Of experiments, or of --all.")]
EnvironmentsOption = Annotated[list[str] | None, environment_option(f"{WHICH_ENVIRONMENT} May be repeated. {SUFFIX}")]
ALL = "All stacks of the project; with -e, all in this environment, its own first."
SET = (
    "Try another value of the experiment, without changing a file: roles.worker.replicas=2. YAML on one line; null "
    "removes. May be repeated."
)
QUIET = "Print no progress and no notes, only results and errors."
AllOption = Annotated[bool, typer.Option("--all", help=ALL)]
SetOption = Annotated[list[str] | None, option("PATH=VALUE", SET, "--set")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)]


class Form(StrEnum):
    """The forms of output. Each command has some of them."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    COMMENT = "comment"


DATA = (Form.TEXT, Form.JSON)
REPORT = (Form.TEXT, Form.JSON, Form.MARKDOWN)
SUFFIXES = {".txt": Form.TEXT, ".json": Form.JSON, ".md": Form.MARKDOWN, ".html": Form.HTML}
REFRESH = "pulumi refresh --yes --clear-pending-creates"


def form_of(output: str | None, file: str | None, forms: Sequence[Form]) -> Form:
    """Return the form that `--output` names, else that of the file's suffix. Raises `InputError` for a suffix of a form
    that the command does not have."""
    if file in tuple(Form):  # kubectl's spelling
        fix = f"write `--output {file}` for the form, or `-o ./{file}` for a file of this name"
        raise InputError([Problem(OPTION, file, "is the name of a form, not of a file", fix)])
    form = SUFFIXES.get(Path(file or "").suffix, Form.TEXT) if output is None else Form(output)
    if form not in forms:
        suffixes = ", ".join(suffix for suffix, other in SUFFIXES.items() if other in forms)
        reason = f"the suffix is that of {form}, which this command does not have"
        raise InputError([Problem(OPTION, file, reason, f"use {suffixes}, or choose the form with --output")])
    return form


def show(form: Form, data: Mapping[str, Any], *documents: Sequence[Section]) -> None:
    """Print the report in this form: the data, or the documents."""
    if form is Form.JSON:
        show_data(data)
    else:
        show_text(form, *documents)


def show_data(data: Mapping[str, Any]) -> None:
    """Print the report for programs."""
    from trainform.console.secrets import masked

    echo_json(masked(data))


def show_text(form: Form, *documents: Sequence[Section]) -> None:
    """Print the report for people, as Markdown or for a terminal. The first section of each document has its title."""
    from trainform.console.secrets import masked

    shown = [masked(list(sections)) for sections in documents]
    if form is Form.MARKDOWN:
        from trainform.console import markdown

        echo(*markdown.render_documents(shown).removesuffix("\n").split("\n"))
    else:
        from trainform.console import terminal

        echo(*(line.text for line in terminal.lines_of(shown, terminal_width())))


def next_steps(stack: str, files: Sequence[str], *, is_deployed: bool = True, must_refresh: bool = False) -> list[str]:
    """Return lines with the written files and the next commands.

    A stack that is not deployed may not exist. It is created before `git add`, since Pulumi writes a salt into its
    file. must_refresh: an `up` was killed, and the state lacks its last operations."""
    named, quoted = shlex.quote(stack), " ".join(map(shlex.quote, files))
    creation = [] if is_deployed else [f"pulumi stack select --create {named}"]
    creation += [f"{REFRESH} -s {named}"] if must_refresh else []
    saved = shlex.quote(f"{stack}.json")
    reviewed = [f"trainform review {named} --save {saved}", f"trainform apply {saved}"]
    commands = [*creation, f"git add {quoted}", *reviewed]
    return [*(f"wrote {path}" for path in files), "next:", *(f"  {command}" for command in commands)]
