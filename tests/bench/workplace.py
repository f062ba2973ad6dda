"""What the parts of a run share: how often, where, and who is told."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from trainform.progress import Progress


@dataclasses.dataclass(frozen=True)
class Workplace:
    """`folder` is temporary and of this run alone."""

    runs: int
    folder: Path
    progress: Progress

    def new(self, name: str) -> Path:
        """An empty folder."""
        path = self.folder / name
        path.mkdir()
        return path


def cache_bytecode(folder: Path) -> None:
    """Have every measured Python keep its bytecode in `folder`.

    As after the first run on any machine, also where PYTHONDONTWRITEBYTECODE is set, and without touching the checkout.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
