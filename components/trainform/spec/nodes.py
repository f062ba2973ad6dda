"""The tree of a YAML document: the line of each key, and values that are not plain data (JSON and dates).

PyYAML's constructors of scalars raise any kind of error, so this module calls each of them, at its path and line.
"""

from __future__ import annotations

import yaml
from msgspec import Struct

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader
from trainform.spec.source import join_path

STANDARD = "tag:yaml.org,2002:"
TEXT, BOOL, MERGE, VALUE, TIMESTAMP = (f"{STANDARD}{name}" for name in ("str", "bool", "merge", "value", "timestamp"))
NUMBERS = (f"{STANDARD}int", f"{STANDARD}float")
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
        if len(where) > defaults.LONGEST_PATH:
            reason = (
                f"a key there has, with all above it, {len(where)} characters, and at most {defaults.LONGEST_PATH} "
                "are read"
            )
            self._add(parts, key, reason, "shorten the key")
            return False
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
