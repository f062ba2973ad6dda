"""A display that keeps what it was told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from trainform.progress import Step


class Recording:
    """Steps, their updates and notes in one list, oldest first; `estimates`: the seconds left of each update."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.estimates: list[float | None] = []

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Step]:
        self.lines.append(text)
        yield self

    def update(self, text: str, seconds_left: float | None = None) -> None:
        self.lines.append(text)
        self.estimates.append(seconds_left)

    def note(self, text: str) -> None:
        self.lines.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
