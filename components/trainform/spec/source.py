"""The source of data: the file, the lines of its keys, and the texts of its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.errors import Problem

if TYPE_CHECKING:
    from trainform.spec.layers import Layer


class Source(Struct, frozen=True):
    """The source of data."""

    name: str  # of the file, as the user gave it
    lines: dict[str, int]  # line (from 1) of each path in the file
    written: dict[str, str] = {}  # texts of values that YAML does not read as text: `no` (false), `010` (8)
    layers: tuple[Layer, ...] = ()  # merge patches, in the order in which they were applied

    def locate(self, problem: Problem) -> Problem:
        """Return the problem at the place where its value, or its nearest parent, is written, with file and line."""
        path, in_file = self.origin(problem.path)
        if not in_file:
            return dataclasses.replace(problem, path=path)
        return dataclasses.replace(problem, path=path, source=self.name, line=self._line(path, problem.line))

    def origin(self, path: str) -> tuple[str, bool]:
        """Return the place where the value of a path is written, and True if that place is in the file."""
        for layer in reversed(self.layers):
            place = layer.origin(path)
            if place is not None:
                return place, layer.in_file
        return path, True

    def _line(self, path: str, unknown: int) -> int:
        return next((self.lines[part] for part in upwards(path) if part in self.lines), unknown)


NOWHERE = Source("", {})
"""The source of data without a file."""


def upwards(path: str) -> Iterator[str]:
    """Yield the path and the paths above it, the longest first. Since keys may have dots, some are not places."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


def join_path(parts: tuple[str | int, ...]) -> str:
    """Return the path as text: `roles.worker.init[0]` for `("roles", "worker", "init", 0)`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
