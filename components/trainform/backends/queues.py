"""Volcano's Queue, which gangs of every operator are placed from."""

from __future__ import annotations

from trainform.catalog import defaults
from trainform.manifests.manifest import Manifest, without_empty
from trainform.plan.model import QueuePlan

API_VERSION = "scheduling.volcano.sh/v1beta1"
CRDS = ("queues.scheduling.volcano.sh",)

# What Pulumi's provider does with a queue: a job must not be made before its queue is open, and a wait of the provider's ten minutes
# tells nobody anything. The queue `default` is not ours; its fields are taken over from whoever set them.
UNTIL_OPEN = {
    "pulumi.com/waitFor": "jsonpath={.status.state}=Open",
    "pulumi.com/timeoutSeconds": str(defaults.QUEUE_OPEN_SECONDS),
}
TAKE_OVER = {"pulumi.com/patchForce": "true"}


def queue_manifest(queue: QueuePlan, labels: dict[str, str]) -> Manifest:
    """The Queue. `default` exists already, made by Volcano's scheduler: only its fields are set."""
    request = queue.request
    if request is None:
        raise ValueError(f"queue {queue.name} belongs to somebody else")
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
    body = {
        "apiVersion": API_VERSION,
        "kind": "Queue",
        "metadata": {"name": queue.name, "labels": labels, "annotations": TAKE_OVER if shared else UNTIL_OPEN},
        "spec": without_empty(spec),
    }
    return Manifest(f"queue-{queue.name}", body, patch=shared)
