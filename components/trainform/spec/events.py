"""What is wrong with a YAML text before anything is made of it: characters, documents, depth, anchors and aliases.

Events come without recursion and expand nothing, so neither deep nesting nor a bomb of aliases costs anything here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader

# YAML's `c-printable`: tab, line ends, and what is not a control character or half of one.
_NOT_ALLOWED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


TOO_DEEP = f"the file is nested deeper than {defaults.DEEPEST} levels", "flatten it"
TOO_MANY = "the file holds two documents", "keep one document to a file: remove the line `---`"
QUOTE = "put it in quotes if it is text"
TOO_INDIRECT = f"the file uses more than {defaults.MOST_ALIASES} aliases", "write the values out"


def check_events(text: str, name: str) -> None:
    """InputError with what is wrong; yaml.YAMLError where the text is no YAML."""
    _check_characters(text, name)
    depth = documents = aliases = 0
    anchors: dict[str, int] = {}
    problems: list[Problem] = []
    for event in _events(text, name):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > defaults.DEEPEST or documents > 1 or aliases > defaults.MOST_ALIASES:
            reason, fix = TOO_DEEP if depth > defaults.DEEPEST else TOO_MANY if documents > 1 else TOO_INDIRECT
            raise InputError([Problem("", None, reason, fix, name, _line(event))])
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            problems += _anchor_problems(event, event.anchor, anchors, name)
    if problems:
        raise InputError(problems)


def _events(text: str, name: str) -> Iterator[yaml.Event]:
    """YAML's events. libyaml takes any bytes for a tag that is written with `%`, and its names in Python are made of them."""
    line = 1
    try:
        for event in yaml.parse(text, Loader=Loader):
            line = _line(event)
            yield event
    except UnicodeError:
        reason = "the file is not YAML that can be read: a tag (!) there, or just below, holds bytes that are no text"
        raise InputError(
            [Problem("", None, reason, "remove the tag, or put it in quotes if it is text", name, line)]
        ) from None


def _check_characters(text: str, name: str) -> None:
    found = _NOT_ALLOWED.search(text)
    if found is None:
        return
    character = found.group()
    reason = f"the file has a character that YAML does not allow (U+{ord(character):04X})"
    fix = f'remove it, or write it in double quotes as "{character.encode("unicode_escape").decode()}"'
    line = text.count("\n", 0, found.start()) + 1
    raise InputError([Problem("", character, reason, fix, name, line)])


def _anchor_problems(event: yaml.Event, anchor: str, anchors: dict[str, int], name: str) -> Iterator[Problem]:
    """An anchor that stands twice, or an alias of none. anchors: the lines of those before it, to which a new one is added.

    Their names are not shown: they may be passwords that begin with `*` or `&`, and here nothing knows at which key they stand.
    """
    line, column = _line(event), 1 if event.start_mark is None else event.start_mark.column + 1
    if isinstance(event, yaml.AliasEvent):
        if anchor not in anchors:
            reason = f"the line holds an alias (*) in column {column} of which no anchor stands before it"
            yield Problem("", None, reason, QUOTE, name, line)
    elif anchor in anchors:
        reason = f"the line holds an anchor (&) in column {column} that stands twice, first in line {anchors[anchor]}"
        yield Problem("", None, reason, f"give the second one another name, or {QUOTE}", name, line)
    else:
        anchors[anchor] = line


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
