"""`trainform logs`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, argument, option, seconds_of
from trainform.cli.jobs import target_of
from trainform.console.lines import flush_or_discard, note, output_stream, plain_text
from trainform.console.signals import signal_handler
from trainform.errors import CommandLineError, list_names

if TYPE_CHECKING:
    from trainform.running.pods import Place

TIME = "%Y-%m-%dT%H:%M:%SZ"
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
PodArgument = Annotated[str | None, argument("ROLE[/INDEX]", "Pods of a role, or one of them. Default: all.")]
RankOption = Annotated[int | None, option("N", "Only the pod with this rank, not that of a process.", "--rank", min=0)]
FailedOption = Annotated[bool, typer.Option("--failed", help="Only pods that failed, the first to fail first.")]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends; wait for its pods.")]
PreviousOption = Annotated[bool, typer.Option("--previous", "-p", help="Show the run before the last restart.")]
SinceOption = Annotated[str | None, option("DURATION", "Only lines newer than this, such as 5m.", "--since")]
TailOption = Annotated[int | None, option("N", "Only the last N lines of each pod.", "--tail", min=0)]
StepOption = Annotated[str | None, option("NAME", "Show this container or step of `prepare`.", "--step")]


def command(
    word: StackJobArgument,
    pod: PodArgument = None,
    environment: StackEnvironmentOption = None,
    rank: RankOption = None,
    failed: FailedOption = False,
    follow: FollowOption = False,
    previous: PreviousOption = False,
    since: SinceOption = None,
    tail: TailOption = None,
    step: StepOption = None,
) -> None:
    """Print the output of a job's pods as one stream.

    Lines of all pods come in the order of their times, each after the role, the index and the rank of its pod. Colours
    and other control characters of the output are left out. With -f, the command waits for pods, follows restarts, and
    connects again after a failure of the network.

    Exit code: 0, or 1 if no chosen pod has run yet or some output could not be read.
    """
    from trainform.running.logs import MOST_NAMED, Logs, Selection, has_ended
    from trainform.running.pods import chosen, first_ranks, known_places, running_steps
    from trainform.running.read import read, require_pods

    if follow and (failed or previous):
        other = "--failed" if failed else "-p"
        raise CommandLineError(f"-f cannot be used with {other}", f"{other} is about runs that have ended: remove -f")
    begin = "" if since is None else f"{datetime.now(UTC) - timedelta(seconds=seconds_of('--since', since)):{TIME}}"
    snapshot = read(target_of(word, environment))
    require_pods(snapshot)
    over = has_ended(snapshot)
    follow = follow and not over
    places = chosen(pod, rank, known_places(snapshot))
    selection = Selection(places, first_ranks(snapshot.record), step, previous, failed, begin, tail)
    sources = selection.sources(snapshot.pods)
    loud = {source.place for source in sources if source.run is not None}
    silent = [] if failed else [str(place) for place in places if place not in loud]
    if failed and not sources:
        _note("there is no pod that has failed")
    if silent:
        what = "no output, and the pods have ended:" if over else "waiting for" if follow else "no output yet of"
        steps = running_steps(snapshot.pods) if step is None else []
        _note(f"{what} {list_names(silent, MOST_NAMED)}{f'; `--step {steps[0]}` runs' if steps else ''}")
    logs = Logs(snapshot.target, selection, _printer(places, flush=follow), _note)
    whole = bool(follow or failed or loud)
    with signal_handler([signal.SIGINT], _interrupt), contextlib.suppress(BrokenPipeError):
        whole = asyncio.run(logs.print(sources, follow=follow)) and whole
    flush_or_discard()
    if not whole:
        raise typer.Exit(1)


def _interrupt(*_: object) -> None:
    """End at once, also while the terminal is slow; asyncio would wait for the print."""
    raise KeyboardInterrupt


def _note(text: str) -> None:
    note(f"trainform: {text}", err=True)


def _printer(places: Sequence[Place], *, flush: bool) -> Callable[[Place, str], None]:
    """Return a function that prints a line after its pod, in colour on a terminal."""
    from rich.text import Text

    from trainform.console.screen import screen

    console, stream = screen(), output_stream()
    prefixes: dict[Place, str] = {}
    width = max((len(str(place)) for place in places), default=0)

    def show(place: Place, line: str) -> None:
        if place not in prefixes:
            with console.capture() as captured:
                text = Text(f"{place!s:<{width}} | ", COLOURS[len(prefixes) % len(COLOURS)])
                console.print(text, end="", soft_wrap=True)
            prefixes[place] = captured.get()
        stream.write(f"{prefixes[place]}{plain_text(line)}\n")
        if flush:
            stream.flush()

    return show
