"""A preview by the engine of one stack alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainform.review.run import EngineRun, run_previews


def run_preview(stack: str, folder: Path, arguments: Sequence[str] = ()) -> EngineRun:
    """Run `pulumi preview` of the stack to its end."""
    with run_previews([stack], folder, arguments) as [run]:
        return run.result()
