"""How the rooms say what they are doing, without knowing where it is shown.

The command line passes a display (`cli.progress`), a test or a library user passes nothing and gets `SILENT`.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Protocol


class Step(Protocol):
    """One long piece of work that is under way."""

    def update(self, text: str, seconds_left: float | None = None) -> None:
        """Replace the step's text: how far it is. `seconds_left`: an estimate for all the work that this step is a part
        of; None where there is none."""


class Progress(Protocol):
    """Steps are not nested: the one that begins is the one that is shown."""

    def step(self, text: str) -> AbstractContextManager[Step]:
        """Show `text` and the time since the beginning until the block is left."""

    def note(self, text: str) -> None:
        """One line that stays: a decision and its reason, or what to expect."""


class Silent:
    """Progress that nobody watches, and its step."""

    def step(self, text: str) -> AbstractContextManager[Step]:
        return contextlib.nullcontext(self)

    def update(self, text: str, seconds_left: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        pass


SILENT: Progress = Silent()
