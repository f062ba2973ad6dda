"""What of a job object changes while it runs, by paths; everything else is part of its revision."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from trainform.backends.paths import places


def immutable_part(job: dict[str, Any], paths: Iterable[str]) -> Any:
    """The spec of a job object without what changes in place: paths such as `spec.tasks.*.replicas`."""
    left = {"spec": copy.deepcopy(job["spec"])}
    for path in paths:
        for holder, key, _ in [*places(left, path)]:
            del holder[key]
    return left["spec"]
