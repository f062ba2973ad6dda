"""The accelerators of a recorded experiment. No cluster is needed for it, and a review without one imports no client."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from trainform.manifests.shapes import mapping


def accelerators_of_roles(roles: Any) -> Counter[str]:
    """How many accelerators of each kind the roles of a recorded experiment have together."""
    counts: Counter[str] = Counter()
    for role in mapping(roles).values():
        replicas = _whole(mapping(role).get("replicas", 1))
        for kind, count in mapping(mapping(role).get("accelerators")).items():
            counts[str(kind)] += replicas * _whole(count)
    return +counts


def _whole(value: object) -> int:
    try:
        return int(Decimal(str(value)))
    except (ArithmeticError, ValueError):
        return 0
