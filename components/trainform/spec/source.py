"""Where data came from: the file, the lines of its keys, and how values stand in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.errors import Problem

if TYPE_CHECKING:
    from trainform.spec.layers import Layer


class Source(Struct, frozen=True):
    """Where data came from: the file as the user named it, and the line (from 1) of each path in it."""

    name: str
    lines: dict[str, int]
    written: dict[str, str] = {}  # texts that YAML reads as something else: `no` (false), `010` (8), `22:30` (1350)
    layers: tuple[Layer, ...] = ()  # merge patches that were applied, the last one last

    def locate(self, problem: Problem) -> Problem:
        """Return the problem at the place where its value, or its nearest parent, is written, with file and line."""
        path, in_file = self.origin(problem.path)
        if not in_file:
            return dataclasses.replace(problem, path=path)
        return dataclasses.replace(problem, path=path, source=self.name, line=self._line(path, problem.line))

    def origin(self, path: str) -> tuple[str, bool]:
        """Where the value of a path is written, in the words of the file, and whether that is in the file."""
        for layer in reversed(self.layers):
            place = layer.origin(path)
            if place is not None:
                return place, layer.in_file
        return path, True

    def _line(self, path: str, unknown: int) -> int:
        return next((self.lines[part] for part in upwards(path) if part in self.lines), unknown)


NOWHERE = Source("", {})
"""Of data that comes from no file."""


def upwards(path: str) -> Iterator[str]:
    """The path and what is above it, the longest first. Keys have dots of their own, so not each of them is a place."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


def join_path(parts: tuple[str | int, ...]) -> str:
    """`("roles", "worker", "init", 0)` as a person writes it: `roles.worker.init[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
