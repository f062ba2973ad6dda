"""Volcano's Queue, from which gangs of all operators are scheduled."""

from __future__ import annotations

from trainform import defaults
from trainform.manifests.manifest import Component, Manifest, object_body, without_empty
from trainform.plan.model import QueuePlan

API_VERSION = "scheduling.volcano.sh/v1beta1"
KIND = "Queue"
CRDS = ("queues.scheduling.volcano.sh",)

# Annotations for Pulumi's provider. It must wait until a queue is open before it creates a job in it, and its usual
# limit of ten minutes is too long. The queue `default` belongs to Volcano, so its fields are taken over from their
# current manager.
UNTIL_OPEN = {
    "pulumi.com/waitFor": "jsonpath={.status.state}=Open",
    "pulumi.com/timeoutSeconds": str(defaults.QUEUE_OPEN_SECONDS),
}
# The webhook reads the parent queue from its own cache, which may be late.
LATE_PARENT = (("failed to get parent queue", "not found"),)
TAKE_OVER = {"pulumi.com/patchForce": "true"}


def queue_manifest(queue: QueuePlan, labels: dict[str, str]) -> Manifest:
    """The Queue. Volcano's scheduler makes the queue `default`, so for it only fields are set. Raises ValueError if the
    plan makes no queue."""
    request = queue.request
    if request is None:
        raise ValueError(f"the queue {queue.name} belongs to somebody else")
    shared = queue.name == defaults.QUEUE
    amounts = dict(queue.amounts)
    guarantee = amounts.pop("guarantee", None)
    spec = {
        "weight": request.weight,
        "reclaimable": request.reclaimable,
        "parent": request.parent,
        "priority": request.priority if request.priority else None,
        **amounts,
        "guarantee": None if guarantee is None else {"resource": guarantee},
    }
    annotations, fields = TAKE_OVER if shared else UNTIL_OPEN, {"spec": without_empty(spec)}
    body = object_body(KIND, queue.name, None, labels, annotations, api_version=API_VERSION, **fields)
    return Manifest(f"queue-{queue.name}", body, patch=shared, component=Component.QUEUE, late_refusals=LATE_PARENT)
