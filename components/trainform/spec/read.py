"""Read YAML as plain data (JSON and dates), with the lines of keys and the texts of values, and report all problems.

PyYAML's constructors of scalars raise any kind of error, so `Walk` calls each of them, at its path and line.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from trainform import defaults
from trainform.console.files import read_text
from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader

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


STANDARD = "tag:yaml.org,2002:"
TEXT, BOOL, MERGE, VALUE, TIMESTAMP = (f"{STANDARD}{name}" for name in ("str", "bool", "merge", "value", "timestamp"))
UNREADABLE = "!unreadable"
# The tags of plain data by kind of node, and the reason if a scalar cannot be converted.
SCALARS = {
    TEXT: "",
    f"{STANDARD}null": "the value is not null",
    BOOL: "the value is not true or false",
    f"{STANDARD}int": "the value is not a whole number",
    f"{STANDARD}float": "the value is not a number",
    TIMESTAMP: "the value is not a date that exists",
}
COLLECTIONS: dict[type[yaml.Node], str] = {yaml.SequenceNode: f"{STANDARD}seq", yaml.MappingNode: f"{STANDARD}map"}
LONGEST_NUMBER = 100  # characters; Python would need minutes for a number of a million digits
QUOTE = "put it in quotes if it is text"
FOREIGN = (
    "the value has a tag (!), which is not plain data",
    "remove the tag, or put the value in quotes if it begins with `!`",
)


class Unreadable(Struct, frozen=True):
    """A value in data whose problem is reported already. No field accepts it."""


def holds_unreadable(data: object) -> bool:
    """Return True if a value in the data cannot be read."""
    if isinstance(data, dict | list):
        return any(map(holds_unreadable, data.values() if isinstance(data, dict) else data))
    return isinstance(data, Unreadable)


class NodeLoader(Loader):
    """The loader of a document that a `Walk` has visited."""


NodeLoader.add_constructor(UNREADABLE, lambda loader, node: Unreadable())


class Walk:
    """A walk over the nodes of a document, which collects lines and problems and removes wrong nodes."""

    def __init__(self, name: str) -> None:
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._name = name
        self._left = defaults.MOST_VALUES
        self._converter = NodeLoader("")
        self._unreadable: set[yaml.Node] = set()

    def visit(self, node: yaml.Node, parts: tuple[str | int, ...] = ()) -> None:
        """Visit the node and all nodes below it. Raises `InputError` if its aliases stand for too many values."""
        self._check_size(node, parts)
        if node in self._unreadable:  # an alias of a value whose problem is reported already
            return
        wrong = self._wrong(node)
        if wrong is not None:
            self._add(parts, node, *wrong)
            self._leave_out(node)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[join_path((*parts, index))] = _line(item)
                self.visit(item, (*parts, index))
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            node.value = [(key, value) for key, value in node.value if self._pair(key, value, parts, seen)]

    def _leave_out(self, node: yaml.Node) -> None:
        self._unreadable.add(node)
        node.tag = UNREADABLE
        if isinstance(node, yaml.CollectionNode):
            node.value = []

    def _check_size(self, node: yaml.Node, parts: tuple[str | int, ...]) -> None:
        self._left -= 1
        if self._left < 0:  # a long file, or aliases of aliases: small as text
            reason = f"the file holds more than {defaults.MOST_VALUES} values, with those that its aliases stand for"
            fix = "leave out what the job does not need; a list of aliases stands for all that each of them stands for"
        elif len(parts) > defaults.DEEPEST:  # an alias of its parent
            reason = f"the file is nested deeper than {defaults.DEEPEST} levels once its aliases are followed"
            fix = "write the values out, without an alias of what it stands in"
        else:
            return
        where = join_path(parts[:1])
        raise InputError([Problem(where, None, reason, fix, self._name, self.lines.get(where, _line(node)))])

    def _pair(self, key: yaml.Node, value: yaml.Node, parts: tuple[str | int, ...], seen: dict[str, int]) -> bool:
        """Visit a key and its value; return whether data can be made of them."""
        if not isinstance(key, yaml.ScalarNode):
            reason = "the mapping has a key that is a list or a mapping"
            self._add(parts, key, reason, "write one word as the key")
            return False
        if key in self._unreadable:
            return False
        if key.tag == BOOL and key.value.lower() not in ("true", "false"):
            key.tag = TEXT  # `on`, `no`: truth values only in YAML 1.1
        below = (*parts, key.value)
        where, line = join_path(below), _line(key)
        self.lines.setdefault(where, line)
        if key.value in seen:
            reason = f"the key stands twice, first in line {seen[key.value]}"
            self.problems.append(Problem(where, None, reason, "keep one of the two", self._name, line))
        elif key.tag not in (TEXT, MERGE):
            fix = f'put it in quotes: "{key.value}"'
            self.problems.append(Problem(where, key.value, "the key is not text", fix, self._name, line))
            key.tag = TEXT
        seen.setdefault(key.value, line)
        if key.tag == MERGE:
            items = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(item, yaml.MappingNode) for item in items):
                fix = "name a mapping, such as *defaults, or a list of mappings"
                self._add(below, value, "the key `<<` merges what is not a mapping", fix)
                return False
        self.visit(value, below)
        if key.tag == MERGE and isinstance(value, yaml.SequenceNode):
            value.value = [item for item in value.value if item not in self._unreadable]
        return key.tag != MERGE or value not in self._unreadable

    def _wrong(self, node: yaml.Node) -> tuple[str, str] | None:
        """Return reason and fix if the node is not plain data."""
        if not isinstance(node, yaml.ScalarNode):
            return None if node.tag == COLLECTIONS.get(type(node)) else FOREIGN
        if node.tag in (MERGE, VALUE) and node.value in ("<<", "="):
            return "the value is a sign of YAML's own", f'put it in quotes: "{node.value}"'
        if node.tag not in SCALARS:
            return FOREIGN
        reason = None if node.tag == TEXT else self._unfit(node)
        return None if reason is None else (reason, QUOTE)

    def _unfit(self, scalar: yaml.ScalarNode) -> str | None:
        """Return the reason if the scalar cannot be converted to the type of its tag."""
        if len(scalar.value) > LONGEST_NUMBER:
            return f"the value has {len(scalar.value)} characters, and no number or date has more than {LONGEST_NUMBER}"
        try:
            value = NodeLoader.yaml_constructors[scalar.tag](self._converter, scalar)
        except Exception:  # any error of the conversion
            return SCALARS[scalar.tag]
        too_large = isinstance(value, int) and not -(2**63) <= value < 2**63
        return "the value is a whole number of more than 64 bits" if too_large else None

    def _add(self, parts: tuple[str | int, ...], node: yaml.Node, reason: str, fix: str) -> None:
        where = join_path(parts)
        # the path in `{name: HF_TOKEN, value: …}` does not show that the value is a secret
        is_shown = isinstance(node, yaml.ScalarNode) and parts[-1:] != ("value",)
        value = node.value if is_shown else None
        self.problems.append(Problem(where, value, reason, fix, self._name, self.lines.get(where, _line(node))))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


_TAB = re.compile(" *\t")  # in an indentation


class Content(Struct, frozen=True):
    """The mapping in a file, with `nodes.Unreadable` in place of each value that cannot be read."""

    data: dict[str, Any]
    source: Source
    problems: tuple[Problem, ...]  # of the syntax


def read_mapping(path: Path, name: str) -> tuple[dict[str, Any], Source]:
    """Return the mapping in the file, and its source. Raises InputError with every problem of the syntax."""
    content = read_content(path, name)
    if content.problems:
        raise InputError(content.problems)
    return content.data, content.source


def read_content(path: Path, name: str) -> Content:
    """Return the readable part of the mapping in the file. Raises InputError if nothing in the file can be read."""
    return parse_mapping(read_text(path, name), name)


def parse_mapping(text: str, name: str) -> Content:
    """Return the readable part of the mapping in the text; fails like `read_content`."""
    try:
        check_events(text, name)
        loader = NodeLoader(text)
        node = loader.get_single_node()
        walk = Walk(name)
        if node is not None:
            walk.visit(node)
        data = None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, UnicodeError) as error:  # libyaml accepts any bytes in a tag that is written with `%`
        raise InputError([syntax_problem(error, name, text)]) from None
    if isinstance(data, dict):
        written = {path: scalar.value for path, scalar in _scalars(node) if scalar.tag != TEXT and scalar.value}
        return Content(data, Source(name, walk.lines, written), tuple(walk.problems))
    kind = "nothing" if data is None else "a list" if isinstance(data, list) else "one value"
    fix = "write `key: value` lines; `trainform new` writes an example"
    raise InputError(walk.problems or [Problem("", None, f"the file holds {kind}, not a mapping", fix, name, 1)])


def _scalars(node: yaml.Node | None, parts: tuple[str | int, ...] = ()) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Yield every scalar with its path. The loader has put the pairs of a merge key (`<<`) before the mapping's own."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(value, (*parts, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _scalars(item, (*parts, index))
    elif isinstance(node, yaml.ScalarNode):
        yield join_path(parts), node


def syntax_problem(error: Exception, name: str, text: str) -> Problem:
    """Return YAML's error without lines of the file and names of aliases, which may be secrets."""
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    line = 1 if mark is None else mark.line + 1
    if any(_TAB.match(written) for written in text.splitlines()[line - 1 : line]):
        reason = "the line is indented with a tab, which YAML does not allow"
        return Problem("", None, reason, "indent the line with spaces", name, line)
    parts = [part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part is not None]
    if any("alias" in part or "anchor" in part for part in parts):
        reason = "the line uses an alias (*) without an anchor before it, or an anchor (&) that stands twice"
        return Problem("", None, reason, QUOTE, name, line)
    reason = f"the file is not YAML that can be read: {': '.join(parts) if parts else type(error).__name__}"
    if begun is not None and begun.line + 1 < line:
        reason += f"; what is read there began in line {begun.line + 1}"
    return Problem("", None, reason, "check indentation and quotes there", name, line)


# Characters outside YAML's `c-printable`, such as control characters and surrogates.
_NOT_ALLOWED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_events(text: str, name: str) -> None:
    """Raise `InputError` if the text exceeds a limit, and `yaml.YAMLError` if it is not YAML."""
    character = _NOT_ALLOWED.search(text)
    if character is not None:
        reason = f"the file has a character that YAML does not allow (U+{ord(character[0]):04X})"
        fix = f'remove it, or write it in double quotes as "{character[0].encode("unicode_escape").decode()}"'
        raise InputError([Problem("", character[0], reason, fix, name, text.count("\n", 0, character.start()) + 1)])
    depth = documents = 0
    for event in yaml.parse(text, Loader=Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if depth > defaults.DEEPEST:
            reason = f"the file is nested deeper than {defaults.DEEPEST} levels"
            raise InputError([Problem("", None, reason, "flatten it", name, line)])
        if documents > 1:
            fix = "keep one document to a file: remove the line `---`"
            raise InputError([Problem("", None, "the file holds two documents", fix, name, line)])
