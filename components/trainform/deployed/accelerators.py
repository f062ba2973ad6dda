"""The accelerators of a recorded experiment, without a cluster: a review without one imports no client."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trainform.manifests.manifest import mapping, quantity


def accelerators_of_roles(roles: Any) -> Counter[str]:
    """Return the number of accelerators of each kind in the roles of a recorded experiment."""
    counts: Counter[str] = Counter()
    for role in mapping(roles).values():
        replicas = _whole(mapping(role).get("replicas", 1))
        for kind, count in mapping(mapping(role).get("accelerators")).items():
            counts[str(kind)] += replicas * _whole(count)
    return +counts


def _whole(value: object) -> int:
    """Return the count; 0 for anything else, and for one of millions of digits (`1e9999999`), which takes for ever."""
    count = quantity(value)
    return 0 if count is None else int(count)
