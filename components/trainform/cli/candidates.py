"""Candidates for shell completion: names of the project's files, which it does not read, and of add-ons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from trainform import defaults
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_releases, known_stacks

ADD_ONS = ", ".join(defaults.ADD_ONS)
"""Add-ons of the sandbox, for help texts: more operators, and Kueue."""

# Shells evaluate candidates, so a name that needs quotes is left out; such a file can be given by its path.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes one of the project's names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete) and _PLAIN.fullmatch(name)]

    return complete


experiments = _completion(lambda: known_names(EXPERIMENTS))
environments = _completion(lambda: known_names(ENVIRONMENTS))
stacks = _completion(known_stacks)
releases = _completion(known_releases)
jobs = _completion(lambda: [*known_stacks(), *known_names(EXPERIMENTS)])
comparable = _completion(lambda: [*known_stacks(), *known_names(EXPERIMENTS), *known_releases()])


def addons(incomplete: str) -> list[str]:
    """Return the completions of the last add-on in a comma-separated list."""
    from trainform.local.sandbox.addons.addon_table import ADDONS

    before, comma, prefix = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in ADDONS if name.startswith(prefix) and name not in before.split(",")]
