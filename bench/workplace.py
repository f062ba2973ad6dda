"""Settings of a run: number of rounds, folder and progress display."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from trainform.console.progress import Progress


class Workplace(Struct, frozen=True):
    """The settings of one run. `folder` is temporary."""

    runs: int
    folder: Path
    progress: Progress

    def new(self, name: str) -> Path:
        """Create an empty folder."""
        path = self.folder / name
        path.mkdir()
        return path


def cache_bytecode(folder: Path) -> None:
    """Let every measured Python process keep its bytecode in `folder`.

    As after the first run on any machine, also where PYTHONDONTWRITEBYTECODE is set, and without touching the checkout.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
