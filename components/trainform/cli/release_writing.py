"""What the verbs that write a release share: their options, and how they ask before they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.errors import CommandLineError, TrainformError
from trainform.terminal.lines import ask, stdin_is_terminal

if TYPE_CHECKING:
    from trainform.releases.model import Release

DryOption = Annotated[bool, typer.Option("--dry-run", help="Show everything, and write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


def require_answer(*, dry_run: bool, yes: bool) -> None:
    """CommandLineError where the verb would have to ask, and nobody is there."""
    if not (dry_run or yes or stdin_is_terminal()):
        raise CommandLineError("nobody can be asked here", "add --yes to write, or --dry-run to look")


def write(release: Release, stack: str, root: Path, *, yes: bool) -> None:
    """Write the release, and let the stack follow it; TrainformError if the user does not want it. yes: do not ask."""
    from trainform.releases.stack_file import follow

    if not yes and not ask(f"Write release {release.name}, for {stack}? [y/N] "):
        raise TrainformError("nothing is written", "answer `y`, or add --yes")
    follow(release, stack, root)
