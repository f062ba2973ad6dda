"""What a live cluster says of itself, for a new environment."""

from __future__ import annotations

import dataclasses
from typing import Any

Objects = list[Any] | None
"""As the API server gives them; None where they could not be read."""


@dataclasses.dataclass(frozen=True)
class Survey:
    """operators: names of those that are served, as in `operators.OPERATORS`. namespace: that of the context. unread: what could not be read, and why.
    Nothing in it has been looked at: it may hold anything."""

    context: str
    namespace: str
    operators: tuple[str, ...] | None
    nodes: Objects
    storage_classes: Objects
    queues: Objects
    local_queues: Objects
    unread: tuple[str, ...] = ()
