"""Values as YAML on one line, which is parsed as the same value."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from trainform.errors import InputError
from trainform.spec.libyaml import Dumper
from trainform.spec.read import parse_mapping

ONE_LINE = 1 << 20  # columns: no text is folded
# Pulumi reads stacks and projects with another parser (Go's yaml.v3), for which `08`, `1e3` and `0o17` are numbers. In
# YAML 1.1 and 1.2 every value that begins with a letter and is none of these words is text.
RESERVED_WORDS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_LETTER = re.compile("[A-Za-z]")
_FLOW = re.compile(r"[][{},]")


def scalar(text: str) -> str:
    """Return the text as a YAML scalar, in quotes if a parser could read another value (`no`, `12`, `08`, `a: b`)."""
    if _LETTER.match(text) is None or text.lower() in RESERVED_WORDS:
        return _quoted(text)
    try:
        content = parse_mapping(f"text: {text}", "")
    except InputError:
        return _quoted(text)
    return text if content.data == {"text": text} else _quoted(text)


def inline(value: Any) -> str:
    """Return a value in flow style, with each text as `scalar` writes it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{inline(key)}: {inline(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, str):
        return _quoted(value) if _FLOW.search(value) else scalar(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return str(yaml.dump(text, Dumper=Dumper, default_style='"', width=ONE_LINE)).strip()


def flow(value: dict[str, Any] | list[Any]) -> str:
    """Return a mapping or list in flow style."""
    dumped = yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=ONE_LINE)
    return str(dumped).strip()
