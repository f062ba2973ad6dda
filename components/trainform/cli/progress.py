"""Progress on standard error: a line that is redrawn in a terminal, plain lines elsewhere (CI logs, pipes)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from rich.progress import Progress as Redrawn
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from trainform.console.lines import echo, is_quiet
from trainform.console.progress import SILENT, Progress, Step
from trainform.console.screen import Screen, screen

REMINDER_SECONDS = 30.0


def display() -> Progress:
    """Return the display for standard error; a silent one with `--quiet`."""
    if is_quiet():
        return SILENT
    console = screen(err=True)
    # not rich's is_terminal, which is true with FORCE_COLOR: a log can have colours, but no redrawn line
    moves = console.file.isatty() and not console.is_dumb_terminal
    return TerminalProgress(console) if moves else LineProgress(lambda line: echo(line, err=True))


def spell_duration(seconds: float) -> str:
    """Return a duration such as `0.4 s`, `12 s` or `3 min 20 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


class _Running:
    """A running step: its text and start time."""

    def __init__(self, text: str, show: Callable[[str], None] = lambda text: None) -> None:
        self.text = text
        self.succeeded = False
        self._title = text
        self._begin = time.monotonic()
        self._show = show

    def update(self, text: str) -> None:
        self.text = text
        self._show(text)

    @property
    def duration(self) -> str:
        return spell_duration(time.monotonic() - self._begin)

    def end(self) -> str:
        return (
            f"{self._title}: done in {self.duration}" if self.succeeded else f"{self.text}: ended after {self.duration}"
        )


class TerminalProgress:
    """A spinner with the step's text and the elapsed time. At the end of the step a permanent line replaces them."""

    def __init__(self, console: Screen) -> None:
        self._console = console

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        cut = Column(no_wrap=True, overflow="ellipsis")  # a wrapped line cannot be redrawn
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=cut),
            TimeElapsedColumn(),
        )
        redrawn = Redrawn(*columns, console=self._console, transient=True)
        task = redrawn.add_task(text)
        running = _Running(text, lambda text: redrawn.update(task, description=text))
        try:
            with redrawn:
                yield running
            running.succeeded = True
        finally:
            self.note(running.end())

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class LineProgress:
    """A line at the start of a step, one every 30 s, and one at its end."""

    def __init__(self, write: Callable[[str], None], reminder: float = REMINDER_SECONDS) -> None:
        self._write = write
        self._reminder = reminder

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        running, ended = _Running(text), threading.Event()

        def remind() -> None:
            while not ended.wait(self._reminder):
                self._write(f"{running.text} … {running.duration}")

        self._write(f"{text} …")
        thread = threading.Thread(target=remind, daemon=True)
        thread.start()
        try:
            yield running
            running.succeeded = True
        finally:
            ended.set()
            thread.join()
            self._write(running.end())

    def note(self, text: str) -> None:
        self._write(text)
