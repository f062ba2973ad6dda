"""What of a job object changes while it runs, by paths; everything else is part of its revision."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

EACH = "*"  # of a list's items, or of a mapping's values


def immutable_part(job: dict[str, Any], paths: Iterable[str]) -> Any:
    """The spec of a job object without what changes in place: paths such as `spec.tasks.*.replicas`."""
    left = {"spec": copy.deepcopy(job["spec"])}
    for path in paths:
        _remove(left, path.split("."))
    return left["spec"]


def _remove(body: Any, words: Sequence[str]) -> None:
    """Take out what the path leads to; nothing where it leads nowhere."""
    word, *rest = words
    if word == EACH:
        for item in body.values() if isinstance(body, dict) else body:
            _remove(item, rest)
    elif word in body:
        if rest:
            _remove(body[word], rest)
        else:
            del body[word]
