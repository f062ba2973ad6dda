"""The fixes for a queue of the cluster that is missing or not open. Queues are Volcano's for every backend."""

from __future__ import annotations

from trainform import defaults
from trainform.project import deploy

QUEUES = "Volcano"
UNOPENED_FIX = "look at the volcano-controllers deployment and its log"


def open_queue_fix(name: str) -> str:
    """Return the fix for a queue that is closed."""
    return f"open it: vcctl queue operate --action open --name {name}"


def missing_queue_fix(name: str, environment: str, created_by_environment: bool) -> str:
    """Return the fix for a missing queue. `created_by_environment`: True if the environment's stack creates it."""
    if created_by_environment:
        return deploy(environment)
    if name == defaults.QUEUE:
        return "look at the volcano-scheduler deployment and its log: it creates this queue when it starts"
    return f"correct its name in `queues` of {environment} (kubectl get queues.scheduling.volcano.sh), or ask its owner to create it"
