"""The preview that was reviewed, and everything from which it follows, as one review to be saved."""

from __future__ import annotations

import datetime

from msgspec import Struct

from trainform.errors import TrainformError
from trainform.review.preview import Preview
from trainform.saved.model import Facts, Planned, Saved, Touched
from trainform.saved.objects import touched, unread
from trainform.saved.steps import planned
from trainform.spec.environment import Environment

NO_CLUSTER = "The cluster is not compared: no environment says where it is."


class Seen(Struct, frozen=True):
    """What a preview says: the steps, the live objects that they touch, and the policy packs that have judged it, with their versions."""

    steps: list[Planned]
    objects: list[Touched]
    packs: dict[str, str]


def seen(preview: Preview, environment: Environment | None) -> Seen:
    """What the preview says. TrainformError if that is not all."""
    if preview.failed:
        raise TrainformError("the preview fails:", "", preview.failed.splitlines())
    if preview.incomplete:
        raise TrainformError(
            "the preview is incomplete", "run it with the version of Pulumi that trainform is tested with"
        )
    objects = [] if environment is None else touched(preview, environment)
    return Seen(planned(preview), objects, {} if preview.packs is None else dict(preview.packs))


def saved_review(facts: Facts, found: Seen) -> Saved:
    """The review of now."""
    missing = [NO_CLUSTER] if facts.cluster is None else []
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Saved(
        at=at,
        facts=facts,
        steps=found.steps,
        objects=found.objects,
        packs=found.packs,
        not_compared=[*missing, *unread(found.objects)],
    )
