"""What is wrong with a YAML text before anything is made of it: characters, documents, depth, anchors and aliases.

Events come without recursion and expand nothing, so neither deep nesting nor a bomb of aliases costs anything here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from trainform.catalog import defaults
from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader

# YAML's `c-printable`: tab, line ends, and what is not a control character or half of one.
_NOT_ALLOWED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_events(text: str, name: str) -> None:
    """InputError with what is wrong; yaml.YAMLError where the text is no YAML."""
    _check_characters(text, name)
    depth = documents = aliases = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        for wrong, reason, fix in (
            (depth > defaults.DEEPEST, f"is nested deeper than {defaults.DEEPEST} levels", "flatten it"),
            (documents > 1, "holds two documents", "keep one document to a file: remove the line `---`"),
            (
                aliases > defaults.MOST_ALIASES,
                f"uses more than {defaults.MOST_ALIASES} aliases",
                "write the values out",
            ),
        ):
            if wrong:
                raise InputError([Problem("", None, reason, fix, name, _line(event))])
    problems = [*_anchors(text, name)]
    if problems:
        raise InputError(problems)


def _check_characters(text: str, name: str) -> None:
    found = _NOT_ALLOWED.search(text)
    if found is None:
        return
    character = found.group()
    reason = f"is a character that YAML does not allow (U+{ord(character):04X})"
    fix = f'remove it, or write it in double quotes as "{character.encode("unicode_escape").decode()}"'
    line = text.count("\n", 0, found.start()) + 1
    raise InputError([Problem("", character, reason, fix, name, line)])


def _anchors(text: str, name: str) -> Iterator[Problem]:
    """Anchors that stand twice, and aliases of none: a pattern such as `*.py` reads as one."""
    first: dict[str, int] = {}
    for event in yaml.parse(text, Loader=Loader):
        anchor = event.anchor if isinstance(event, yaml.NodeEvent) else None
        if anchor is None:
            continue
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            if anchor not in first:
                reason = f"is an alias, and nothing before it has the anchor &{anchor}"
                yield Problem("", f"*{anchor}", reason, f'put it in quotes if it is text: "*{anchor}"', name, line)
        elif anchor in first:
            reason = f"is an anchor that stands twice, first in line {first[anchor]}"
            yield Problem("", f"&{anchor}", reason, "give the second one another name", name, line)
        else:
            first[anchor] = line


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
