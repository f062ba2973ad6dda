"""`trainform status`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, StackEnvironmentOption, StackJobArgument, show
from trainform.cli.jobs import target_of
from trainform.errors import CommandLineError

if TYPE_CHECKING:
    from trainform.running.snapshot import Target

FAILED = 1
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Show each change until the job has ended.")]


@prints(*REPORT)
def command(
    word: StackJobArgument, environment: StackEnvironmentOption = None, watch: WatchOption = False, *, form: Form
) -> None:
    """Show the phase of a deployed job, why it waits or failed, and its pods.

    The phase follows from the pods and their gang: queued, starting, running, ending, restarting, succeeded, failed,
    suspended, gone or unknown. It needs the Role trainform-reviewer (docs/how-to/rights), and names what it may
    not read.

    Exit code: 0, or 1 if neither the job nor its pods could be read.
    """
    from msgspec import to_builtins

    from trainform.cli.status_text import sections
    from trainform.running.read import JOB, PODS
    from trainform.running.status import status_of_target

    if watch and form is not Form.TEXT:
        raise CommandLineError("--watch shows text", "remove --output, or --watch")
    target = target_of(word, environment)
    if watch:
        asyncio.run(_watch(target))
        return
    found = status_of_target(target)
    show(form, to_builtins(found), sections(found))
    if {JOB, PODS} <= found.not_read.keys():
        raise typer.Exit(FAILED)


async def _watch(target: Target) -> None:
    """Paint the status again after each change, until the job has ended; without a terminal, print it when the phase or
    a pod has changed."""
    from rich.live import Live
    from rich.text import Text

    from trainform.cli.status_text import sections
    from trainform.console.lines import echo, terminal_width
    from trainform.console.screen import screen
    from trainform.console.secrets import masked
    from trainform.console.terminal import lines_of
    from trainform.running.status import status_of_target
    from trainform.running.watch import OVER, after_changes

    console = screen()
    printed: list[object] = []
    with Live(console=console, auto_refresh=False) as live:
        async for found, error in after_changes(target, status_of_target):
            lines = [line.text for line in lines_of([masked(sections(found, error))], terminal_width())]
            seen: list[object] = [
                found.phase,
                found.message,
                error,
                *((pod.name, pod.state, pod.reason) for pod in found.pods),
            ]
            if console.is_terminal:
                live.update(Text("\n".join(lines)), refresh=True)
            elif seen != printed:
                echo(*lines, *[""])
            printed = seen
            if found.phase in OVER:
                return
