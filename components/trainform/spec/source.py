"""Where data came from: the file, the lines of its keys, and how values stand in it."""

from __future__ import annotations

import dataclasses

from trainform.errors import Problem


@dataclasses.dataclass(frozen=True)
class Source:
    """Where data came from: the file as the user named it, and the line (from 1) of each path in it.

    `written` has what stands in the file where YAML reads a word as something else: `no` (false), `010` (8), `22:30` (1350).
    """

    name: str
    lines: dict[str, int]
    written: dict[str, str] = dataclasses.field(default_factory=dict)

    def locate(self, problem: Problem) -> Problem:
        """The problem with file and line; the line of the nearest parent where the path itself is not there."""
        path = problem.path
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return dataclasses.replace(problem, source=self.name, line=self.lines.get(path, problem.line))


NOWHERE = Source("", {})
"""Of data that comes from no file."""


def join_path(parts: tuple[str | int, ...]) -> str:
    """`("roles", "worker", "init", 0)` as a person writes it: `roles.worker.init[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
