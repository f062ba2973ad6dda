"""Values as YAML that reads back as the same value, in one line."""

from __future__ import annotations

import re
from typing import Any

import yaml

from trainform.errors import InputError
from trainform.spec.libyaml import Dumper
from trainform.spec.read import parse_mapping

ONE_LINE = 1 << 20  # columns, so that no text is folded
# Pulumi reads stacks and projects with another reader (Go's yaml.v3), to which `08`, `1e3` and `0o17` are numbers. Whatever
# a reader of YAML 1.1 or 1.2 does not take for text begins with something else than a letter, or is one of these words.
WORDS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_LETTER = re.compile("[A-Za-z]")


def plain(text: str) -> str:
    """The text; in quotes where a reader of YAML might find something else (`no`, `12`, `08`, `a: b`)."""
    if _LETTER.match(text) is None or text.lower() in WORDS:
        return _quoted(text)
    try:
        content = parse_mapping(f"text: {text}", "")
    except InputError:
        return _quoted(text)
    return text if content.data == {"text": text} else _quoted(text)


def _quoted(text: str) -> str:
    return str(yaml.dump(text, Dumper=Dumper, default_style='"', width=ONE_LINE)).strip()


def flow(value: dict[str, Any] | list[Any]) -> str:
    """A mapping or list in braces."""
    dumped = yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=ONE_LINE)
    return str(dumped).strip()
