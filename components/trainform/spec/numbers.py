"""Numbers that YAML 1.1 and 1.2 read differently. YAML 1.1, which trainform and kubectl use, reads `010` as 8 and
`1:30` as 90; YAML 1.2 and people read 10 and a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.errors import MASK, Problem
from trainform.spec.names import END
from trainform.spec.nodes import QUOTE
from trainform.spec.source import join_path

_PLAIN = re.compile(
    rf"[-+]?((0|[1-9][0-9]*|0x[0-9a-f]+)|([0-9]+\.[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|\.(inf|nan)){END}", re.IGNORECASE
)
_OCTAL = re.compile(rf"[-+]?0[0-7]+{END}")
# Fields of patches with file modes, which Kubernetes' own examples write as octal numbers.
FILE_MODES = frozenset({"defaultMode", "mode"})
PATCHES = frozenset({"pod_overrides", "manifest_overrides"})  # fields of unknown types: a text may be meant


def misread(data: Any, written: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each number that YAML 1.1 and 1.2 read differently. written: see `Source`."""
    if all(map(_PLAIN.match, written.values())):
        return
    for parts, number in _numbers(data, ()):
        where = join_path(parts)
        text = written.get(where)
        is_octal = text is not None and _OCTAL.match(text) is not None
        if text is None or _PLAIN.match(text) or (is_octal and (parts[-1] in FILE_MODES or int(text) == number)):
            continue
        other = int(text) if is_octal else "a text"
        reason = f"the number {text} is {number} in YAML 1.1, as here, and {other} in YAML 1.2"
        fix = f"write {number}, or {other} if that is meant" if is_octal else f"write {number}"
        if Problem(where, text, "", "").shown_value == MASK:
            reason, fix = "YAML 1.1 and 1.2 read this number differently", "write it in plain digits"
        yield Problem(where, text, reason, f"{fix}; {QUOTE}" if PATCHES & {*parts} else fix)


def _numbers(data: Any, parts: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int | float]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _numbers(value, (*parts, key))
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield parts, data
