"""Progress on standard error: a line that moves in a terminal, plain lines elsewhere (CI logs, pipes)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner

from trainform.progress import Progress, Step
from trainform.terminal.lines import echo
from trainform.terminal.screen import Screen, screen

REMINDER_SECONDS = 30.0
FRAMES_PER_SECOND = 8


def display() -> Progress:
    """The one that fits where standard error goes."""
    console = screen(err=True)
    return TerminalProgress(console) if console.is_terminal else LineProgress(lambda line: echo(line, err=True))


def spell_duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


class _Running:
    """The text of a step and its beginning."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._title = text
        self._begin = time.monotonic()

    def update(self, text: str) -> None:
        self.text = text

    def line(self) -> str:
        return f"{self.text} … {spell_duration(time.monotonic() - self._begin)}"

    def end(self, succeeded: bool) -> str:
        duration = spell_duration(time.monotonic() - self._begin)
        return f"{self._title}: done in {duration}" if succeeded else f"{self.text}: ended after {duration}"


class TerminalProgress:
    """A spinner with the step's text and its time."""

    def __init__(self, console: Screen) -> None:
        self._console = console

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        running = _Running(text)
        spinner = Spinner("dots")

        def render() -> RenderableType:
            spinner.update(text=self._console.render_str(running.line()))  # of a string it would read markup
            return spinner

        succeeded = False
        try:
            # Transient: an end of the step replaces the moving line by one that stays.
            with Live(
                get_renderable=render, console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True
            ):
                yield running
            succeeded = True
        finally:
            self.note(running.end(succeeded))

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class LineProgress:
    """A line at the beginning, one every 30 s, and one at the end."""

    def __init__(self, write: Callable[[str], None], reminder: float = REMINDER_SECONDS) -> None:
        self._write = write
        self._reminder = reminder

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        running = _Running(text)
        ended = threading.Event()

        def remind() -> None:
            while not ended.wait(self._reminder):
                self._write(running.line())

        self._write(f"{text} …")
        thread = threading.Thread(target=remind, daemon=True)
        thread.start()
        succeeded = False
        try:
            yield running
            succeeded = True
        finally:
            ended.set()
            thread.join()
            self._write(running.end(succeeded))

    def note(self, text: str) -> None:
        self._write(text)
