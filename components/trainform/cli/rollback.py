"""`trainform rollback`."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.errors import CommandLineError, InputError, TrainformError
from trainform.project import project_root, release_path, require_project, stack_path
from trainform.terminal.lines import ask, echo, echo_json, note, stdin_is_terminal, terminal_width

if TYPE_CHECKING:
    from trainform.promotion.back import PreparedRollback

REASON = "--reason"


class Form(StrEnum):
    """The forms of the report."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


StackArgument = Annotated[
    str, typer.Argument(metavar="STACK", help="A stack of the project.", autocompletion=candidates.stacks)
]
ReasonOption = Annotated[
    str, typer.Option(REASON, metavar="TEXT", help="Why; it is written into the release.", show_default=False)
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="RELEASE|REVISION",
        help="What the stack had before. Default: the last thing that was deployed before what it runs now.",
        show_default=False,
        autocompletion=candidates.releases,
    ),
]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show everything, and write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
FormOption = Annotated[Form, typer.Option("--format", metavar="terminal|json|markdown", help="Form of the report.")]


@prints_data
def command(
    stack: StackArgument,
    reason: ReasonOption,
    to: ToOption = None,
    dry_run: DryOption = False,
    yes: YesOption = False,
    form: FormOption = Form.TERMINAL,
) -> None:
    """Let a stack go back to what it had before, as a whole and not the image alone.

    It writes a release with the earlier experiment and the reason, and the stack follows it. No promotion takes the stack
    out of a rollback unseen. The earlier thing is an earlier release of the stack; without one, what Pulumi's backend has
    in its history: a folder's files, or the versions of a service. A second rollback goes further back.

    Nothing is deployed: `trainform review` and `pulumi up` of the stack come afterwards.

    Exit code: 0, 1 if something cannot be read, 2 for wrong arguments, or if nothing was there before.
    """
    if not (dry_run or yes or stdin_is_terminal()):
        raise CommandLineError("nobody can be asked here", "add --yes to write, or --dry-run to look")
    from trainform.promotion.back import prepare_rollback
    from trainform.releases.gates import reason_problems

    wrong = [*reason_problems(reason)]
    if wrong:
        raise InputError(wrong)
    root = project_root()
    require_project(root)
    found = prepare_rollback(stack, to, reason.strip(), root)
    if form is not Form.JSON:
        _show(found, form)
    if not dry_run:
        if not yes and not ask(f"Write release {found.release.name}, for {found.back.name}? [y/N] "):
            raise TrainformError("nothing is written", "answer `y`, or add --yes")
        from trainform.releases.stack_file import follow

        follow(found.release, found.back.name, root)
    if form is Form.JSON:
        from trainform.promotion.back_text import as_data

        echo_json(as_data(found, written=not dry_run))
    elif not dry_run:
        note(*_next(found))


def _next(found: PreparedRollback) -> list[str]:
    """What is typed next."""
    files = [release_path(found.back.experiment, found.release.name), stack_path(found.back.name)]
    stack = shlex.quote(found.back.name)
    git = f"  git add {' '.join(map(shlex.quote, files))}"
    return [
        *(f"wrote {path}" for path in files),
        "next:",
        git,
        f"  trainform review {stack}",
        f"  pulumi up -s {stack}",
    ]


def _show(found: PreparedRollback, form: Form) -> None:
    from trainform.promotion.back_text import sections
    from trainform.review.forms import markdown, terminal

    if form is Form.MARKDOWN:
        echo(*markdown.render_documents([sections(found)]).removesuffix("\n").split("\n"))
    else:
        echo(*(line.text for line in terminal.lines_of([sections(found)], terminal_width())))
