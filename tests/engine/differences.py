"""What the server keeps otherwise than it was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def changed(said: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Paths of what we said and the server keeps otherwise; what it adds does not matter."""
    if isinstance(said, dict) and isinstance(kept, dict):
        for key, value in said.items():
            yield from changed(value, kept.get(key), f"{path}.{key}")
    elif isinstance(said, list) and isinstance(kept, list) and len(said) == len(kept):
        for index, (ours, theirs) in enumerate(zip(said, kept, strict=True)):
            yield from changed(ours, theirs, f"{path}[{index}]")
    elif said != kept:
        yield f"{path}: said {said!r}, kept {kept!r}"
