"""The display of a rehearsal: the lines that the pods write, and a table with the state of each pod."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from rich import box
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trainform.console.lines import escaped, is_quiet
from trainform.console.screen import Screen, plain
from trainform.local.rehearsal.run.records import FAILED, PodRecord

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
FRAMES_PER_SECOND = 4

Rows = Callable[[], Sequence[PodRecord]]


class ConsoleDisplay:
    """Prints each line with the name of its pod, whose full name callers give. Several threads call it.

    A terminal gets colours, and a table below the lines that is updated. Elsewhere the table is printed once, at the
    end.
    """

    def __init__(self, console: Screen) -> None:
        self._console = console
        self._prefixes: dict[str, Text] = {}
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def watch(self, names: Sequence[tuple[str, str]], rows: Rows) -> Iterator[None]:
        """Show the rehearsal until the block is left. names: full and short name of each pod."""
        self._names = dict(names)
        width = max(map(len, self._names.values()))
        self._prefixes = {
            pod: Text(f"{escaped(short):<{width}} | ", style=COLOURS[index % len(COLOURS)])
            for index, (pod, short) in enumerate(names)
        }
        live: AbstractContextManager[object] = contextlib.nullcontext()
        if self._console.is_terminal:
            live = Live(
                get_renderable=lambda: self._table(rows()),
                console=self._console,
                refresh_per_second=FRAMES_PER_SECOND,
                transient=True,
            )
        try:
            with live:
                yield
        finally:
            self._console.print(self._table(rows()))

    def line(self, pod: str, text: str) -> None:
        """Show a line that a pod wrote."""
        with self._lock:
            self._console.print(self._prefixes[pod] + plain(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Show a line of trainform's own."""
        if is_quiet():
            return
        with self._lock:
            self._console.print(text, soft_wrap=True)

    def _table(self, rows: Sequence[PodRecord]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("pod", "phase", "exit", "seconds"):
            table.add_column(column)
        table.add_column("", overflow="fold")
        for row in rows:
            code = "" if row.exit_code is None else str(row.exit_code)
            restarts = f"{row.restarts} restart{'s' if row.restarts > 1 else ''}" if row.restarts else ""
            reason = ", ".join(part for part in (row.reason, restarts) if part)
            phase = Text(row.phase, "red" if row.phase == FAILED else "")
            table.add_row(self._names.get(row.pod, row.pod), phase, code, f"{row.seconds:.1f}", reason)
        return table
