"""A preview by the engine of one stack alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainform.deployed.preview_runs import EngineRun, finished, previews_in


def run_preview(stack: str, folder: Path, arguments: Sequence[str] = ()) -> EngineRun:
    """Run `pulumi preview` of the stack to its end."""
    with previews_in(folder, arguments) as begin:
        return finished(begin(stack))
