"""Options and confirmation of the commands that write releases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.console.lines import ask, stdin_is_terminal
from trainform.errors import CommandLineError, TrainformError

if TYPE_CHECKING:
    from trainform.deployed.releases.release import Release

REASON = "--reason"
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show the result, and write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
ReasonOption = Annotated[
    str, typer.Option(REASON, metavar="TEXT", help="Reason, which is written into the release.", show_default=False)
]


def require_answer(*, dry_run: bool, yes: bool) -> None:
    """Raise `CommandLineError` if confirmation is required and standard input is not a terminal."""
    if not (dry_run or yes or stdin_is_terminal()):
        reason = "confirmation is required, and this is not a terminal"
        raise CommandLineError(reason, "add --yes to write, or --dry-run to look")


def write(releases: Mapping[str, Release], root: Path, *, yes: bool) -> None:
    """Write all releases (stack -> release) or none. Raises `TrainformError` if the user does not confirm."""
    from trainform.deployed.releases.stack_file import follow_all

    names = ", ".join(f"{release.name} for {stack}" for stack, release in releases.items())
    if not yes and not ask(f"Write release {names}? [y/N] "):
        raise TrainformError("nothing is written", "answer `y`, or add --yes")
    follow_all(releases, root)
