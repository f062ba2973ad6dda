"""Error hooks: what happens when the provider fails to create an object, an explanation or another attempt."""

from __future__ import annotations

import time

import pulumi

from trainform import defaults
from trainform.cluster.queues import QUEUES, UNOPENED_FIX
from trainform.escaping import escaped
from trainform.manifests.manifest import Manifest
from trainform.resources.preflight import mocked

ATTEMPTS = 10
AGAIN_SECONDS = 1.0


def hooks_of(manifest: Manifest, resource: str) -> pulumi.ResourceHookBinding | None:
    """The error hooks of the object; None if no failure of its creation needs an explanation or another attempt. `resource` is the name of no
    other resource of the program: the engine takes each name of a hook once, and objects of two namespaces may be called alike."""
    if manifest.patch or mocked() or not manifest.late_refusals:
        return None
    kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]

    def again(failed: pulumi.ErrorHookArgs) -> bool:
        if kind == "Queue":
            _explain_closed_queue(name, failed)
        return _is_late(manifest.late_refusals, failed)

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(resource, again)])


def _explain_closed_queue(name: str, failed: pulumi.ErrorHookArgs) -> None:
    """Log what a wait was for if it timed out: the provider's own error is "timed out waiting for the condition"."""
    if any("timed out" in error for error in failed.errors):
        reason = f"the queue {name} has not opened within {defaults.QUEUE_OPEN_SECONDS} s; "
        fix = f"{QUEUES}'s controller opens queues: {UNOPENED_FIX}, then run this again"
        pulumi.log.error(escaped(reason + fix))


def _is_late(refusals: tuple[tuple[str, ...], ...], failed: pulumi.ErrorHookArgs) -> bool:
    """True, after a pause, if a webhook has refused the object because it does not yet see another object that was just created."""
    late = any(all(word in failed.errors[0] for word in words) for words in refusals)
    if not late or len(failed.errors) >= ATTEMPTS:
        return False
    time.sleep(AGAIN_SECONDS)
    return True
