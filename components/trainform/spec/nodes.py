"""The tree of a YAML document: where each key stands, and what in it is no plain data.

Plain data are texts, numbers, true and false, dates, lists and mappings: what JSON knows, and dates. PyYAML's constructors of scalars
raise whatever their conversion runs into (`!!bool abc` a KeyError, 2026-02-30 a ValueError), so each is tried here, at its path and line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import yaml
from msgspec import Struct

from trainform import defaults
from trainform.errors import MASK, InputError, Problem, shorten
from trainform.secrets import is_secret, names_secret
from trainform.spec.dates import day_meant
from trainform.spec.libyaml import Loader
from trainform.spec.source import join_path

STANDARD = "tag:yaml.org,2002:"
TEXT, BOOL, MERGE, VALUE, TIMESTAMP = (f"{STANDARD}{name}" for name in ("str", "bool", "merge", "value", "timestamp"))
NUMBERS = (f"{STANDARD}int", f"{STANDARD}float")
UNREADABLE = "!unreadable"  # a file can spell it too: what a `Walk` has given it stands in its set
# Why a scalar of the tag cannot be read.
UNFIT = {
    f"{STANDARD}null": "the value is not null",
    BOOL: "the value is not true or false",
    f"{STANDARD}int": "the value is not a whole number",
    f"{STANDARD}float": "the value is not a number",
    TIMESTAMP: "the value is not a date that exists",
}
# The tags of plain data, and what each is for.
SHAPES: dict[str, tuple[type[yaml.Node], str]] = {
    **dict.fromkeys([TEXT, *UNFIT], (yaml.ScalarNode, "one value")),
    f"{STANDARD}seq": (yaml.SequenceNode, "a list"),
    f"{STANDARD}map": (yaml.MappingNode, "a mapping"),
}
LONGEST_NUMBER = 100  # characters; Python would need minutes for a number of a million digits
HALF = "the text holds half a character, which no encoding knows"
REMOVE_TAG = "remove the tag"
QUOTE_SIGN = "put the value in quotes if it begins with `!`"
WRITE_OUT = "write the values out, without an alias of what it stands in"
WRITE_LESS = "leave out what the job does not need; a list of aliases stands for all that each of them stands for"
NAME_MAPPING = "name a mapping, such as *defaults, or a list of mappings"


class Unreadable(Struct, frozen=True):
    """Stands in data for a value that cannot be read, and has its problem already. No field takes it, so it is left out of the model."""

    text: str

    def __str__(self) -> str:
        return self.text


def holds_unreadable(data: object) -> bool:
    """Whether something in the data cannot be read."""
    if isinstance(data, dict | list):
        return any(map(holds_unreadable, data.values() if isinstance(data, dict) else data))
    return isinstance(data, Unreadable)


class NodeLoader(Loader):
    """Makes data of a document that a `Walk` has visited."""


NodeLoader.add_constructor(UNREADABLE, lambda loader, node: Unreadable(shorten(_given(node))))


class Walk:
    """A walk over the nodes of a document: the line of every key and item, and every problem. What is wrong is taken out of the nodes, so
    that data can be made of the rest."""

    def __init__(self, name: str) -> None:
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._name = name
        self._left = defaults.MOST_VALUES
        self._converter = NodeLoader("")
        self._unreadable: set[yaml.Node] = set()
        self._secret: set[yaml.Node] = set()

    def visit(self, node: yaml.Node, parts: tuple[str | int, ...] = ()) -> None:
        """The node and all below it; InputError where there is no end to them."""
        self._check_size(node, parts)
        if node in self._unreadable:  # by way of an alias: its problem is there already
            return
        wrong = self._wrong(node, parts)
        if wrong is not None:
            self.problems.append(wrong)
            self._leave_out(node)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[join_path((*parts, index))] = _line(item)
                self.visit(item, (*parts, index))
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            self._secret |= set(_values_of_secrets(node))
            node.value = [(key, value) for key, value in node.value if self._pair(key, value, parts, seen)]

    def _leave_out(self, node: yaml.Node) -> None:
        """Mark the node, and let nothing be made of what is below it: that is not visited."""
        self._unreadable.add(node)
        node.tag = UNREADABLE
        if isinstance(node, yaml.CollectionNode):
            node.value = []

    def _check_size(self, node: yaml.Node, parts: tuple[str | int, ...]) -> None:
        self._left -= 1
        reason, fix = "", ""
        if self._left < 0:  # a long file, or aliases of aliases: small as text
            reason = f"the file holds more than {defaults.MOST_VALUES} values, with those that its aliases stand for"
            fix = WRITE_LESS
        elif len(parts) > defaults.DEEPEST:  # an alias of its parent
            reason = f"the file is nested deeper than {defaults.DEEPEST} levels once its aliases are followed"
            fix = WRITE_OUT
        if reason:
            where = join_path(parts[:1])
            raise InputError([Problem(where, None, reason, fix, self._name, self.lines.get(where, _line(node)))])

    def _pair(self, key: yaml.Node, value: yaml.Node, parts: tuple[str | int, ...], seen: dict[str, int]) -> bool:
        """Visit a key and its value; whether data can be made of them."""
        if not isinstance(key, yaml.ScalarNode):
            self.problems.append(
                self._problem(
                    parts, key, "the mapping has a key that is a list or a mapping", "write one word as the key"
                )
            )
            return False
        if key in self._unreadable:  # an alias of a value: its problem is there already
            return False
        if key.tag == BOOL and key.value.lower() not in ("true", "false"):
            key.tag = TEXT  # `on`, `no`: truth values to YAML 1.1 alone, and a key is none
        below = (*parts, key.value)
        where, line = join_path(below), _line(key)
        if len(where) > defaults.LONGEST_PATH:
            reason = f"a key there has, with all above it, {len(where)} characters, and at most {defaults.LONGEST_PATH} are read"
            self.problems.append(Problem(join_path(parts), None, reason, "shorten the key", self._name, line))
            return False
        self.lines.setdefault(where, line)
        if key.value in seen:
            reason = f"the key stands twice, first in line {seen[key.value]}"
            self.problems.append(Problem(where, None, reason, "keep one of the two", self._name, line))
        elif _is_half(key.value):
            self.problems.append(Problem(where, key.value, HALF, "remove it", self._name, line))
        elif key.tag not in (TEXT, MERGE):
            known = key.tag in SHAPES or key.tag == VALUE
            reason, fix = ("the key is not text", _in_quotes(key.value)) if known else (_not_plain(key), REMOVE_TAG)
            self.problems.append(Problem(where, key.value, reason, fix, self._name, line))
            key.tag = TEXT
        seen.setdefault(key.value, line)
        if key.tag == MERGE and not _merges(value):
            self.problems.append(self._problem(below, value, "the key `<<` merges what is not a mapping", NAME_MAPPING))
            return False
        self.visit(value, below)
        if key.tag == MERGE and isinstance(value, yaml.SequenceNode):
            value.value = [item for item in value.value if item not in self._unreadable]
        return key.tag != MERGE or value not in self._unreadable

    def _wrong(self, node: yaml.Node, parts: tuple[str | int, ...]) -> Problem | None:
        """Why the node is no plain data, None where it is."""
        if node.tag in (MERGE, VALUE) and node.value in ("<<", "="):
            return self._problem(parts, node, "the value is a sign of YAML's own", _in_quotes(node.value))
        if node.tag not in SHAPES:
            return self._foreign(parts, node)
        kind, use = SHAPES[node.tag]
        if not isinstance(node, kind):
            return self._problem(
                parts, node, f"the value has the tag {_short(node.tag)}, which is for {use}", REMOVE_TAG
            )
        if node.tag == TEXT and _is_half(node.value):
            return self._problem(parts, node, HALF, "remove it")
        reason = self._refusal(node) if node.tag in UNFIT else None
        return None if reason is None else self._problem(parts, node, reason)

    def _foreign(self, parts: tuple[str | int, ...], node: yaml.Node) -> Problem:
        """A tag that is not of plain data. Of a secret it is not shown: a password may begin with `!`."""
        problem = self._problem(parts, node, _not_plain(node), REMOVE_TAG)
        if problem.shown_value != MASK:
            return problem
        return dataclasses.replace(
            problem, reason="the value has a tag, which is not plain data", fix=f"{REMOVE_TAG}, or {QUOTE_SIGN}"
        )

    def _refusal(self, scalar: yaml.Node) -> str | None:
        """Why the scalar is not what it looks like, or what its tag says."""
        if len(scalar.value) > LONGEST_NUMBER:
            return f"the value has {len(scalar.value)} characters, and no number or date has more than {LONGEST_NUMBER}"
        try:
            value = NodeLoader.yaml_constructors[scalar.tag](self._converter, scalar)
        except Exception:  # whatever the conversion ran into
            return UNFIT[scalar.tag]
        too_large = isinstance(value, int) and not -(2**63) <= value < 2**63
        return "the value is a whole number of more than 64 bits" if too_large else None

    def _problem(self, parts: tuple[str | int, ...], node: yaml.Node, reason: str, fix: str | None = None) -> Problem:
        """What is wrong with the value at the path. Without a fix: that it may be a text, which is repeated as far as a message may show it."""
        where = join_path(parts)
        given = MASK if node in self._secret else _given(node)
        problem = Problem(where, given, reason, "", self._name, self.lines.get(where, _line(node)))
        shown = "" if problem.shown_value == MASK else f': "{problem.shown_value}"'
        quoted = f"{_day(problem, node)}{self._untagged(node)}put it in quotes if it is text{shown}"
        return dataclasses.replace(problem, fix=quoted if fix is None else fix)

    def _untagged(self, node: yaml.Node) -> str:
        """What comes before quotes: with a tag that the file names, a value in quotes is converted all the same."""
        if node.tag not in UNFIT or not isinstance(node, yaml.ScalarNode):
            return ""
        plain = self._converter.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        return "" if plain == node.tag else f"{REMOVE_TAG}, and "


def _day(problem: Problem, node: yaml.Node) -> str:
    """What comes before quotes for a day that does not exist."""
    is_date = node.tag == TIMESTAMP and isinstance(node, yaml.ScalarNode)
    day = day_meant(node.value) if is_date and problem.shown_value != MASK else None
    return "" if day is None else f"did you mean {day}? "


def _is_half(text: str) -> bool:
    """Whether the text holds half a character (a lone surrogate), which no encoding knows. libyaml refuses it, PyYAML's own loader does not."""
    return text.encode(errors="replace").decode() != text


def _values_of_secrets(node: yaml.MappingNode) -> Iterator[yaml.Node]:
    """What must not be shown in `{name: HF_TOKEN, value: …}`, as Kubernetes writes a variable."""
    found = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
    name, value = found.get("name"), found.get("value")
    if (
        isinstance(name, yaml.ScalarNode)
        and value is not None
        and (names_secret(name.value) or is_secret("", value.value))
    ):
        yield value


def _merges(value: yaml.Node) -> bool:
    """Whether `<<` can bring the value along: a mapping, or a list of mappings."""
    items = value.value if isinstance(value, yaml.SequenceNode) else [value]
    return all(isinstance(item, yaml.MappingNode) for item in items)


def _not_plain(node: yaml.Node) -> str:
    return f"the value has the tag {_short(node.tag)}, which is not plain data"


def _short(tag: str) -> str:
    """The tag as a person writes it."""
    if tag.startswith(STANDARD):
        return tag.replace(STANDARD, "!!", 1)
    return tag if tag.startswith("!") else f"!<{tag}>"


def _in_quotes(text: str) -> str:
    return f'put it in quotes: "{text}"'


def _given(node: yaml.Node) -> object:
    """The value as a problem has it: a text, or a mapping or list whose content is not shown."""
    return node.value if isinstance(node, yaml.ScalarNode) else {} if isinstance(node, yaml.MappingNode) else []


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
