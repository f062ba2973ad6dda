"""Chance that is the same in every run, and another one under `--hypothesis-profile explore`."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants


def chance() -> random.Random:
    """Return a source of random choices."""
    return random.Random(0 if _is_the_same() else None)  # noqa: S311


def draw_the_same_in_every_process() -> None:
    """Let the examples of hypothesis not depend on what else a process runs.

    Hypothesis also draws constants that it finds in the project's modules, but only in those that are imported by then:
    with several processes these are others in each run. No setting turns that off. An exploring run keeps them.
    """
    of_imported_modules = providers._get_local_constants
    providers._get_local_constants = lambda: Constants() if _is_the_same() else of_imported_modules()


def _is_the_same() -> bool:
    used = settings.default
    return used is not None and used.derandomize
