"""Printing of reports: sections for people, and data for programs.

Values from a cluster, a file or Pulumi's backend may hold a secret: everything is masked before it is printed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform.console.lines import echo, echo_json, terminal_width
from trainform.console.secrets import masked

if TYPE_CHECKING:
    from trainform.console.sections import Section


class Form(StrEnum):
    """The forms of a report."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


REFRESH = "pulumi refresh --yes --clear-pending-creates"


FormOption = Annotated[Form, typer.Option("--format", metavar="terminal|json|markdown", help="Form of the report.")]


def show(form: Form, sections: Sequence[Section], data: Mapping[str, Any]) -> None:
    """Print the report in this form."""
    if form is Form.JSON:
        show_data(data)
    else:
        show_text(form, sections)


def show_data(data: Mapping[str, Any]) -> None:
    """Print the report for programs."""
    echo_json(masked(data))


def show_text(form: Form, *documents: Sequence[Section]) -> None:
    """Print the report for people, as Markdown or for a terminal. The first section of each document has its title."""
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
