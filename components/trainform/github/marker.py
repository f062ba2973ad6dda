"""The first line of each comment, which nobody sees: whose comment it is, and which run has written it."""

from __future__ import annotations

import datetime
import hashlib
import json
from typing import Any

from msgspec import Struct

VERSION = 1
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How a time is written: always in UTC, so that texts have the order of times."""
_BEGIN, _END = "<!-- trainform-review ", " -->"
_LONGEST_NAME, _MOST_NAMES = 100, 20
# What could end the HTML comment, as JSON escapes it.
_ESCAPES = str.maketrans({"-": "\\u002d", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Run(Struct, frozen=True):
    """A run in its order: a later one has a larger number, then a later attempt, then a later time."""

    number: int
    attempt: int
    time: str

    @property
    def order(self) -> tuple[int, int, str]:
        return self.number, self.attempt, self.time


class Marker(Struct, frozen=True):
    """What a comment is about. scope: a hash of the project and of the stack; of a comment for all stacks, of the project alone. stacks: the first
    names, for people and for a comment that outlives its stack."""

    scope: str
    project: str
    stacks: tuple[str, ...]
    commit: str
    run: Run

    def render(self) -> str:
        """The marker as an HTML comment of one line. Whatever the names hold, it ends at its end and nowhere before."""
        data = {
            "version": VERSION,
            "scope": self.scope,
            "project": self.project[:_LONGEST_NAME],
            "stacks": [name[:_LONGEST_NAME] for name in self.stacks[:_MOST_NAMES]],
            "commit": self.commit,
            "run": self.run.number,
            "attempt": self.run.attempt,
            "time": self.run.time,
        }
        return f"{_BEGIN}{json.dumps(data).translate(_ESCAPES)}{_END}"


def scope_of(project: str, stack: str | None) -> str:
    """The name of what a comment is about, of the same length for all names."""
    return hashlib.sha256(json.dumps([project, stack]).encode()).hexdigest()[:32]


def project_scope(project: str) -> str:
    """The scope of a comment for all stacks of the project."""
    return scope_of(project, None)


def read_marker(body: str) -> Marker | None:
    """The marker that the comment begins with; None if it has none, or one that is not as `render` writes it."""
    line = body.partition("\n")[0].rstrip("\r")
    if not line.startswith(_BEGIN) or not line.endswith(_END):
        return None
    try:
        data = json.loads(line[len(_BEGIN) : -len(_END)])
        return _marker(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _marker(data: Any) -> Marker:
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise ValueError(data["version"])
    run = Run(_number(data["run"]), _number(data["attempt"]), _time(data["time"]))
    stacks = tuple(map(_text, data["stacks"]))
    return Marker(_text(data["scope"]), _text(data["project"]), stacks, _text(data["commit"]), run)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _time(value: Any) -> str:
    datetime.datetime.strptime(_text(value), TIME)
    return str(value)
