"""What is done when the provider cannot make an object: the reason in words, or another attempt."""

from __future__ import annotations

import time
from collections.abc import Callable

import pulumi

from trainform.catalog import defaults
from trainform.manifests.manifest import Manifest

Answer = Callable[[str, pulumi.ErrorHookArgs], bool]
"""Given the object's name and the errors so far, the last one first: whether to try again."""

ATTEMPTS = 10
AGAIN_SECONDS = 1.0


def hooks_of(manifest: Manifest) -> pulumi.ResourceHookBinding | None:
    """The hooks of the object's kind, None where there are none."""
    kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]
    answer = None if manifest.patch else _ANSWERS.get(kind)
    if answer is None:
        return None
    hook = pulumi.ErrorHook(f"{kind.lower()}-{name}", lambda failed: answer(name, failed))
    return pulumi.ResourceHookBinding(on_error=[hook])


def _closed_queue(name: str, failed: pulumi.ErrorHookArgs) -> bool:
    """The provider calls a wait that ran out "timed out waiting for the condition"; this says what was waited for."""
    if any("timed out" in error for error in failed.errors):
        pulumi.log.error(
            f"the queue {name} has not opened within {defaults.QUEUE_OPEN_SECONDS} s; "
            "Volcano's controller does that: look at the volcano-controllers deployment and its log, then run this again"
        )
    return False


def _late_runtime(name: str, failed: pulumi.ErrorHookArgs) -> bool:
    """Trainer's webhook, and Kueue's, look for the runtime in caches of their own, which learn of it a moment after it was made."""
    late = "untime" in failed.errors[0] and "not found" in failed.errors[0]
    if not late or len(failed.errors) >= ATTEMPTS:
        return False
    time.sleep(AGAIN_SECONDS)
    return True


_ANSWERS: dict[str, Answer] = {"Queue": _closed_queue, "TrainJob": _late_runtime}
