"""A display for tests, which keeps what a rehearsal shows."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

from trainform.local.rehearsal.run.display import Rows


class Recorded:
    """Keeps everything for other programs: (pod, line) in `lines`, and the notes in `notes`."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.notes: list[str] = []

    def watch(self, names: Sequence[tuple[str, str]], rows: Rows) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def line(self, pod: str, text: str) -> None:
        self.lines.append((pod, text))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def of(self, pod: str) -> list[str]:
        """The lines that one pod wrote."""
        return [text for name, text in self.lines if name == pod]
