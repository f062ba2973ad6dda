"""Limits of a YAML text before anything is made of it: characters, depth and documents.

Events come without recursion and expand no aliases, so deep nesting costs nothing here.
"""

from __future__ import annotations

import re

import yaml

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.spec.libyaml import Loader

# YAML's `c-printable`: tab, line ends, and what is not a control character or half of one.
_NOT_ALLOWED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_events(text: str, name: str) -> None:
    """Raise `InputError` if the text is beyond the limits, and `yaml.YAMLError` if it is not YAML."""
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
