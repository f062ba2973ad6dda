"""A copy of an experiment's file with another name and other values. Comments, and the rest of the text, stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import yaml

from trainform.errors import InputError, Problem
from trainform.local.scaffold.yaml_text import inline, scalar
from trainform.spec.layers import merge_patch
from trainform.spec.read import parse_mapping
from trainform.spec.trial import OPTION, Assignment, merge_assignments, unknown_places

Entry = tuple[yaml.Node | None, yaml.Node]
"""Key and value of a mapping; no key for an item of a list."""


def copied_text(text: str, source: str, name: str, assignments: Sequence[Assignment]) -> str:
    """Return the text of the experiment in the file `source` with this name and these values.

    Raises `InputError` if the file cannot be read, or if a value cannot be set without a change of another one, as in a
    mapping with an anchor."""
    content = parse_mapping(text, source)
    problems = [*content.problems, *unknown_places(assignments, content.data)]
    if problems:
        raise InputError(problems)
    data = content.data
    for assignment in (Assignment(("name",), name), *assignments):
        data = merge_patch(data, merge_assignments([assignment]))
        text = _with_value(text, assignment.keys, assignment.value)
        if _read(text) != data:
            reason = f"the value cannot be written into {source} without a change of something else in it"
            fix = "leave it out, and write it into the copy"
            raise InputError([Problem(f"{OPTION}{assignment.path}", None, reason, fix)])
    return text


def _read(text: str) -> dict[str, Any] | None:
    try:
        return parse_mapping(text, "").data
    except InputError:
        return None


def _with_value(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with the value at this path; None removes it, and a mapping is merged."""
    node = cast(yaml.Node, yaml.compose(text, Loader=yaml.SafeLoader))
    entry: Entry = (None, node)
    parent = node
    for depth, key in enumerate(keys):
        found = _entry(node, key)
        if found is None:
            if value is None:
                return text
            for other in reversed(keys[depth + 1 :]):
                value = {other: value}
            return _added(text, entry, key, value)
        entry, parent, node = found, node, found[1]
    if value is None:
        return _removed(text, parent, entry)
    if isinstance(value, dict) and isinstance(node, yaml.MappingNode):
        for key, inner in value.items():
            text = _with_value(text, [*keys, key], inner)
        return text
    return _replaced(text, entry, value)


def _entry(node: yaml.Node, key: str) -> Entry | None:
    """Return the entry of a mapping, or the item of a list with this name."""
    if isinstance(node, yaml.SequenceNode):
        named = ((None, item) for item in node.value if (name := _entry(item, "name")) and name[1].value == key)
        return next(named, None)
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((name, value) for name, value in entries if name.value == key), None)


def _replaced(text: str, entry: Entry, value: Any) -> str:
    key, old = entry
    if key is None:
        return text
    colon = text.index(":", key.end_mark.index) + 1
    line_end = _line_end(text, colon)
    kept = text[colon:line_end] if old.start_mark.index > line_end else ""  # a comment, with the value below it
    return f"{text[:colon]} {inline(value)}{kept}{text[_end(text, old) :]}"


def _added(text: str, entry: Entry, key: str, value: Any) -> str:
    """Return the text with one more key in the mapping, which is the value of the entry."""
    node = entry[1]
    if not isinstance(node, yaml.MappingNode) or not node.value:
        return _replaced(text, entry, {key: value})
    end = _end(text, node.value[-1][1])
    line = f"{scalar(key)}: {inline(value)}"
    if node.flow_style:
        return f"{text[:end]}, {line}{text[end:]}"
    end = _line_end(text, end)
    return f"{text[:end]}\n{' ' * node.value[0][0].start_mark.column}{line}{text[end:]}"


def _removed(text: str, parent: yaml.Node, entry: Entry) -> str:
    key, old = entry
    if key is None:
        return text
    start, end = key.start_mark.index, _end(text, old)
    if not (isinstance(parent, yaml.MappingNode) and parent.flow_style):
        return text[: text.rfind("\n", 0, start) + 1] + text[_line_end(text, end) + 1 :]
    before, after = text[:start], text[end:]
    rest = re.sub(r"^\s*,\s*", "", after)
    return before + rest if rest != after else re.sub(r",\s*$", "", before) + after


def _end(text: str, node: yaml.Node) -> int:
    """Return the end of a value: of a block its last value, without the comments and empty lines below."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    return len(text[: node.end_mark.index].rstrip()) if isinstance(node, yaml.ScalarNode) else node.end_mark.index


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end
