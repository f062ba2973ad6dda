"""A release by its name alone."""

from __future__ import annotations

from pathlib import Path

from trainform.errors import InputError, Problem
from trainform.project import RELEASES, release_path
from trainform.spec.release import Released

FIX = "`trainform history EXPERIMENT` shows the releases of an experiment"


def released(name: str, root: Path) -> Released:
    """The release of whichever experiment; InputError if there is none of this name."""
    found = sorted(root.glob(release_path("*", name)))
    if not found:
        raise InputError([Problem("release", name, f"no file of stacks/{RELEASES}/ has this name", FIX)])
    return Released(found[0].parent.name, name)
