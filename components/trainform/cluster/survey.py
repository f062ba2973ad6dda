"""Data of a live cluster, from which a new environment is written."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Objects = list[Any] | None
"""Objects as the API server returns them; None if they could not be read."""


class Survey(Struct, frozen=True):
    """The data of one cluster, which is not validated.

    `operators`: names of the served ones, as in `operators.operators`. `namespace`: that of the context. `unread`: what
    could not be read, and why.
    """

    context: str
    namespace: str
    operators: tuple[str, ...] | None
    nodes: Objects
    storage_classes: Objects
    queues: Objects
    local_queues: Objects
    unread: tuple[str, ...] = ()
    uid: str | None = None
    """That of its namespace kube-system."""
