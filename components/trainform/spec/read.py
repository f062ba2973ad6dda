"""A YAML file to plain data, with the line of every key and every problem of its syntax at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader

# Real files have a few KiB. The limits keep a wrong file (a checkpoint, a bomb of aliases) from stalling an editor or CI.
LARGEST_FILE = 1 << 20
DEEPEST = 40
MOST_NODES = 50_000
TEXT = "tag:yaml.org,2002:str"
TEXT_KEYS = (TEXT, "tag:yaml.org,2002:merge")


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


def join_path(parts: tuple[str | int, ...]) -> str:
    """`("roles", "worker", "init", 0)` as a person writes it: `roles.worker.init[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_mapping(path: Path, name: str) -> tuple[dict[str, Any], Source]:
    """The one mapping in the file; InputError with every problem of its form."""
    text = _read_text(path, name)
    try:
        _refuse_bombs(text, name)
        loader = Loader(text)
        node = loader.get_single_node()
        walk = _Walk(name)
        walk.visit(node)
        if walk.problems:
            raise InputError(walk.problems)
        data = loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        raise InputError([_syntax_problem(error, name)]) from None
    except ValueError as error:  # a date such as 2026-13-45 is read, not checked, by YAML
        raise InputError(
            [Problem("", None, f"holds a value that YAML cannot read: {error}", "quote it", name)]
        ) from None
    if not isinstance(data, dict):
        kind = "nothing" if data is None else "a list" if isinstance(data, list) else "one value"
        raise InputError(
            [Problem("", None, f"holds {kind}, not a mapping", "write `key: value` lines; see docs/", name, 1)]
        )
    return data, Source(name, walk.lines, dict(_written(node)))


def _read_text(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        size = max(path.stat().st_size, len(raw))
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise InputError([Problem("", None, reason, "check the path and its permissions", name)]) from None
    if size > LARGEST_FILE:
        reason = f"is {size / 1e6:.1f} MB, which no such file is (limit 1 MiB)"
        raise InputError([Problem("", None, reason, "check the path", name)])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        reason = f"is not UTF-8 (byte 0x{raw[error.start]:02x} at offset {error.start})"
        raise InputError([Problem("", None, reason, "save the file as UTF-8", name, line)]) from None


def _refuse_bombs(text: str, name: str) -> None:
    """Count depth, documents and aliases on the event stream, which needs no recursion and expands nothing."""
    depth = documents = aliases = 0
    for event in yaml.parse(text, Loader=Loader):
        line = 0 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > DEEPEST:
            raise InputError([Problem("", None, f"is nested deeper than {DEEPEST} levels", "flatten it", name, line)])
        if documents > 1:
            raise InputError(
                [
                    Problem(
                        "",
                        None,
                        "holds two documents",
                        "keep one document to a file: remove the line `---`",
                        name,
                        line,
                    )
                ]
            )
        if aliases > 100:
            raise InputError([Problem("", None, "uses more than 100 YAML aliases", "write the values out", name, line)])


@dataclasses.dataclass
class _Walk:
    """A walk over the nodes of a document: the line of every key and item, and the keys with what is wrong with them."""

    name: str
    lines: dict[str, int] = dataclasses.field(default_factory=dict)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    left: int = MOST_NODES

    def visit(self, node: yaml.Node | None, parts: tuple[str | int, ...] = ()) -> None:
        self.left -= 1
        if self.left < 0:  # aliases of aliases: small as text, enormous when expanded
            raise yaml.MarkedYAMLError(problem=f"the file expands to more than {MOST_NODES} values")
        if len(parts) > DEEPEST:  # an alias of something that contains it
            raise yaml.MarkedYAMLError(problem=f"the file expands to more than {DEEPEST} levels")
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[join_path((*parts, index))] = item.start_mark.line + 1
                self.visit(item, (*parts, index))
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.MarkedYAMLError(problem="a key is a list or a mapping", problem_mark=key.start_mark)
                below = (*parts, key.value)
                self._key(key, join_path(below), seen)
                self.visit(value, below)

    def _key(self, key: yaml.ScalarNode, where: str, seen: dict[str, int]) -> None:
        line = key.start_mark.line + 1
        self.lines.setdefault(where, line)
        if key.value in seen:
            reason = f"stands twice, first in line {seen[key.value]}"
            self.problems.append(Problem(where, None, reason, "keep one of the two", self.name, line))
        elif key.tag not in TEXT_KEYS:
            fix = f'quote it: "{key.value}"'
            self.problems.append(Problem(where, key.value, "is a key that is not text", fix, self.name, line))
        seen.setdefault(key.value, line)


def _written(node: yaml.Node | None, parts: tuple[str | int, ...] = ()) -> Iterator[tuple[str, str]]:
    """Path and text of every scalar that is not read as text. The nodes are those after reading, which has put what a merge
    key (`<<`) brings along in front of the mapping's own keys."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _written(value, (*parts, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _written(item, (*parts, index))
    elif isinstance(node, yaml.ScalarNode) and node.tag != TEXT and node.value:
        yield join_path(parts), node.value


def _syntax_problem(error: yaml.YAMLError, name: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark
        line = 0 if mark is None else mark.line + 1
        reason = " ".join(filter(None, (error.context, error.problem)))
        return Problem(
            "", None, f"is not YAML that can be read: {reason}", "check indentation and quotes there", name, line
        )
    reason = " ".join(str(error).split())
    return Problem("", None, f"is not YAML that can be read: {reason}", "remove the characters that are not text", name)
