"""The interface to report progress. Tests and users of the library pass no display, and `SILENT` is used."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Protocol


class Step(Protocol):
    """One long task that is running."""

    def update(self, text: str) -> None:
        """Replace the step's text."""


class Progress(Protocol):
    """A display of progress. Steps are not nested: only the last one that began is shown."""

    def step(self, text: str) -> AbstractContextManager[Step]:
        """Show `text` and the elapsed time until the block ends."""

    def note(self, text: str) -> None:
        """Show one line that stays: a decision and its reason, or what will happen."""


class Silent:
    """A display that shows nothing, and its step."""

    def step(self, text: str) -> AbstractContextManager[Step]:
        return contextlib.nullcontext(self)

    def update(self, text: str) -> None:
        pass

    def note(self, text: str) -> None:
        pass


SILENT: Progress = Silent()
