"""Progress on standard error: a line that is redrawn in a terminal, plain lines elsewhere (CI logs, pipes)."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator

from rich.cells import cell_len
from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from trainform.progress import SILENT, Progress, Step
from trainform.terminal.lines import echo, is_quiet
from trainform.terminal.screen import Screen, screen

REMINDER_SECONDS = 30.0
FRAMES_PER_SECOND = 8
SPINNER = "dots"
SPINNER_WIDTH = 2  # with a space
# A new estimate that is longer by less than this is not shown, so that the shown time does not go up and down.
TOLERATED_SHARE, TOLERATED_SECONDS = 0.25, 15.0
OVERDUE_SECONDS = 10.0


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


def spell_left(seconds: float) -> str:
    """Return a text such as `about 12 min left in all`; `seconds` is negative if the estimate was too short."""
    if seconds > 60:
        return f"about {math.ceil(seconds / 60)} min left in all"
    return "less than a minute left" if seconds > -OVERDUE_SECONDS else "longer than usual"


def steady_left(shown: float | None, estimate: float) -> float:
    """Return the time to show after a new estimate, which is ignored if it is only a little longer than the shown time."""
    if shown is None or estimate > shown + TOLERATED_SHARE * max(shown, 0.0) + TOLERATED_SECONDS:
        return estimate
    return min(shown, estimate)


class _Countdown:
    """The remaining time of all work, corrected by the estimates of the steps."""

    def __init__(self) -> None:
        self._end: float | None = None

    def left(self) -> float | None:
        return None if self._end is None else self._end - time.monotonic()

    def correct(self, estimate: float | None) -> None:
        self._end = None if estimate is None else time.monotonic() + steady_left(self.left(), estimate)


class _Running:
    """A running step: its text, start time and remaining time."""

    def __init__(self, text: str, countdown: _Countdown) -> None:
        self.text = text
        self._title = text
        self._begin = time.monotonic()
        self._countdown = countdown
        self._estimated = False

    def update(self, text: str, seconds_left: float | None = None) -> None:
        self._countdown.correct(seconds_left)
        self._estimated = seconds_left is not None
        self.text = text

    @property
    def elapsed(self) -> str:
        return spell_duration(time.monotonic() - self._begin)

    @property
    def left(self) -> str | None:
        """The remaining time, None if unknown."""
        seconds = self._countdown.left() if self._estimated else None
        return None if seconds is None else spell_left(seconds)

    def line(self) -> str:
        return f"{self.text} … {self.elapsed}{'' if self.left is None else f', {self.left}'}"

    def end(self, succeeded: bool) -> str:
        duration = spell_duration(time.monotonic() - self._begin)
        return f"{self._title}: done in {duration}" if succeeded else f"{self.text}: ended after {duration}"


def fit(text: Text, time: str, width: int) -> Text:
    """Return both on one line of at most `width` columns, since a wrapped line cannot be redrawn. The text is cut first."""
    shown = text.copy()
    shown.truncate(max(width - cell_len(time), 1), overflow="ellipsis")
    shown.append(time)
    shown.truncate(max(width, 1), overflow="ellipsis")
    return shown


class TerminalProgress:
    """A spinner with the step's text and the remaining time, or the elapsed time if that is unknown."""

    def __init__(self, console: Screen) -> None:
        self._console = console
        self._countdown = _Countdown()

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        running = _Running(text, self._countdown)
        spinner = Spinner(SPINNER)

        def render() -> RenderableType:
            left = running.left
            time = f" … {running.elapsed}" if left is None else f", {left}"
            # the spinner would interpret markup in a string
            line = fit(self._console.render_str(running.text), time, self._console.width - SPINNER_WIDTH)
            spinner.update(text=line)
            return spinner

        succeeded = False
        try:
            # Transient: at the end of the step a permanent line replaces the redrawn one.
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
    """A line at the start of a step, one every 30 s, and one at its end."""

    def __init__(self, write: Callable[[str], None], reminder: float = REMINDER_SECONDS) -> None:
        self._write = write
        self._reminder = reminder
        self._countdown = _Countdown()

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        running = _Running(text, self._countdown)
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
