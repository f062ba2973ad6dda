"""Chance that is the same in every run, and another one under `--hypothesis-profile explore`, as hypothesis itself does it."""

from __future__ import annotations

import random

from hypothesis import settings


def chance() -> random.Random:
    """A source of random choices."""
    used = settings.default
    return random.Random(0 if used is not None and used.derandomize else None)  # noqa: S311
