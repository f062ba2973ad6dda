"""The preview that was reviewed, and everything from which it follows, as one review to be saved."""

from __future__ import annotations

import datetime

from trainform.errors import TrainformError
from trainform.review.preview import Preview
from trainform.saved.model import Facts, Planned, Saved, Touched
from trainform.saved.objects import touched, unread
from trainform.saved.steps import planned
from trainform.spec.environment import Environment

NO_CLUSTER = "The cluster is not compared: no environment says where it is."


def seen(preview: Preview, environment: Environment | None) -> tuple[list[Planned], list[Touched]]:
    """The steps, and the live objects that they touch. TrainformError if the preview does not say all of it."""
    if preview.failed:
        raise TrainformError("the preview fails:", "", preview.failed.splitlines())
    if preview.incomplete:
        raise TrainformError(
            "the preview is incomplete", "run it with the version of Pulumi that trainform is tested with"
        )
    return planned(preview), [] if environment is None else touched(preview, environment)


def saved_review(facts: Facts, steps: list[Planned], objects: list[Touched]) -> Saved:
    """The review of now."""
    missing = [NO_CLUSTER] if facts.cluster is None else []
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Saved(at=at, facts=facts, steps=steps, objects=objects, not_compared=[*missing, *unread(objects)])
