"""What is done when the provider cannot make an object: the reason in words, or another attempt."""

from __future__ import annotations

import time
from collections.abc import Callable

import pulumi

from trainform.catalog import defaults
from trainform.escaping import escaped
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


def _unmade_queue(name: str, failed: pulumi.ErrorHookArgs) -> bool:
    """The provider calls a wait that ran out "timed out waiting for the condition"; this says what was waited for."""
    if any("timed out" in error for error in failed.errors):
        reason = f"the queue {name} has not opened within {defaults.QUEUE_OPEN_SECONDS} s; "
        fix = "Volcano's controller does that: look at the volcano-controllers deployment and its log, then run this again"
        pulumi.log.error(escaped(reason + fix))
    return _late_parent(name, failed)


def _late(*refusals: tuple[str, ...]) -> Answer:
    """Webhooks look for what an object refers to in caches of their own, which learn of it a moment after it was made. refusals: words
    of theirs; those of a tuple come together."""

    def answer(name: str, failed: pulumi.ErrorHookArgs) -> bool:
        late = any(all(word in failed.errors[0] for word in words) for words in refusals)
        if not late or len(failed.errors) >= ATTEMPTS:
            return False
        time.sleep(AGAIN_SECONDS)
        return True

    return answer


# Words of Volcano's, but for those of a TrainJob: they are Trainer's and Kueue's
_late_parent = _late(("failed to get parent queue", "not found"))
_ANSWERS: dict[str, Answer] = {
    "Queue": _unmade_queue,
    "Job": _late(("unable to find job queue",), ("can only submit job to queue with state `Open`",)),
    "TrainJob": _late(("untime", "not found")),
}
