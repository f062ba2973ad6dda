"""The most that each queue of Volcano may hold, and the queues above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.cluster.amounts import Amounts, amounts_of
from trainform.manifests.shapes import mapping
from trainform.review.context import Context
from trainform.review.objects import queue_steps

MOST_LEVELS = 16  # of queues above a queue: teams have three or four


class Share(Struct, frozen=True):
    """What a queue may hold at most, as it will be."""

    parent: str
    capability: Amounts


def above(name: str, shares: Mapping[str, Share]) -> tuple[str, ...]:
    """The queues above it, the nearest first, without the one that has all nodes. At most `MOST_LEVELS`, so that the
    work grows with the queues alone."""
    found: list[str] = []
    while name in shares and len(found) < MOST_LEVELS and shares[name].parent not in (defaults.ROOT_QUEUE, *found):
        name = shares[name].parent
        found.append(name)
    return tuple(found)


def shares_of(context: Context) -> dict[str, Share]:
    """All queues: as the preview makes them, or else as the cluster or the environment has them."""
    live, found = context.live, dict[str, Share]()
    if context.environment is not None:
        kinds = context.environment.accelerators
        for name, queue in context.environment.queues.items():
            capability = {
                kinds[key].resource if key in kinds else key: value for key, value in queue.capability.items()
            }
            found[name] = Share(queue.parent, amounts_of(capability))
    for queues in () if live is None else (live.queues, live.other_queues):
        for each in () if queues is None else queues:
            found[each.name] = Share(each.parent, amounts_of(each.capability))
    steps = [*queue_steps(context.preview)]
    for name, step in steps:
        if step.new is None and step.kind == "Queue":
            found.pop(name, None)
    for name, step in steps:
        if step.new is not None:
            found[name] = _share(mapping(step.new.inputs.get("spec")))
    return found


def _share(spec: Mapping[str, Any]) -> Share:
    return Share(str(spec.get("parent", defaults.ROOT_QUEUE)), amounts_of(spec.get("capability")))
