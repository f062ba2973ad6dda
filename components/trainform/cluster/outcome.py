"""The result of checks on a live cluster."""

from __future__ import annotations

from msgspec import Struct

from trainform.errors import Problem


class Outcome(Struct, frozen=True):
    """not_checked: what could not be checked, each with the reason. warnings: what works, but not as intended, or that
    another rule may refuse."""

    problems: list[Problem] = []
    not_checked: list[tuple[str, str]] = []
    warnings: list[str] = []

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.problems + other.problems, self.not_checked + other.not_checked, self.warnings + other.warnings
        )
