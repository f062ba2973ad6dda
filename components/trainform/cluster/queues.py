"""Volcano's queues of a live cluster: what to do about one that is missing."""

from __future__ import annotations

from trainform.catalog import defaults


def missing_queue_fix(name: str, environment: str, made_there: bool) -> str:
    """made_there: whether the environment's stack makes it."""
    if made_there:
        return f"pulumi up -s {environment}"
    if name == defaults.QUEUE:
        return "look at the volcano-scheduler deployment and its log: it makes this queue at its start"
    return f"correct its name in `queues` of {environment} (kubectl get queues.scheduling.volcano.sh), or ask its owner to make it"
