"""Read a YAML file as plain data with the line of every key, and report all its syntax problems at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.spec.files import read_text
from trainform.spec.libyaml import Loader
from trainform.spec.nodes import QUOTE, TEXT, NodeLoader, Walk
from trainform.spec.source import Source, join_path

_TAB = re.compile(" *\t")  # in an indentation


class Content(Struct, frozen=True):
    """The mapping in a file, with `nodes.Unreadable` in place of each value that cannot be read."""

    data: dict[str, Any]
    source: Source
    problems: tuple[Problem, ...]  # of the syntax
    unquoted: Mapping[str, str]  # text of every scalar without quotes: other programs may read `1e1` as a number


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
        scalars = list(_scalars(node))
        written = {path: scalar.value for path, scalar in scalars if scalar.tag != TEXT and scalar.value}
        unquoted = {path: scalar.value for path, scalar in scalars if not scalar.style}
        return Content(data, Source(name, walk.lines, written), tuple(walk.problems), unquoted)
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
