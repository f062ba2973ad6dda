"""Values as YAML that reads back as the same value, in one line."""

from __future__ import annotations

from typing import Any

import yaml

from trainform.errors import InputError
from trainform.spec.libyaml import Dumper
from trainform.spec.read import parse_mapping

ONE_LINE = 1 << 20  # columns, so that no text is folded


def plain(text: str) -> str:
    """The text; in quotes where YAML would read something else (`no`, `12`, `a: b`)."""
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
