"""A progress display that records its calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from trainform.console.progress import Step


class Recording:
    """`lines`: texts of steps, updates and notes, oldest first."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        self.lines.append(text)
        yield self

    def update(self, text: str) -> None:
        self.lines.append(text)

    def note(self, text: str) -> None:
        self.lines.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
