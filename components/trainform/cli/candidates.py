"""What a word that has been begun may become: names of the project's files, of which none is read, and of add-ons."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_stacks

# Shells evaluate what they are offered; a file may have any name, and one that needs quotes is typed as a path.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def experiments(incomplete: str) -> list[str]:
    """Experiments of the project whose names begin so."""
    return _offered(incomplete, known_names(EXPERIMENTS))


def environments(incomplete: str) -> list[str]:
    """Environments of the project whose names begin so."""
    return _offered(incomplete, known_names(ENVIRONMENTS))


def stacks(incomplete: str) -> list[str]:
    """Stacks of the project whose names begin so."""
    return _offered(incomplete, known_stacks())


def addons(incomplete: str) -> list[str]:
    """Add-ons of the sandbox, also behind others and a comma."""
    from trainform.sandbox.addons.table import ADDONS

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in ADDONS if name.startswith(begun) and name not in before.split(",")]


def _offered(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name)]
