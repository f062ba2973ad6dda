"""A preview as it is saved: its steps with their values, in a form that is the same as long as nothing moves, and what
it touches."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform.errors import TrainformError
from trainform.manifests.shapes import mapping
from trainform.review import steps
from trainform.review.preview import Preview, State, Step
from trainform.saved.model import Facts, Planned, Saved, Touched
from trainform.saved.objects import touched, unread
from trainform.spec.environment import Environment

PROVIDERS = "pulumi:providers:"
AUTONAMED = "pulumi.com/autonamed"
NO_CLUSTER = "The cluster is not compared: no environment says where it is."
CHOSEN_LATER = "[a name that the engine chooses at apply]"


def planned(preview: Preview) -> list[Planned]:
    """What the engine will do to each resource, by URN. Of what it leaves alone nothing is told, since that follows
    from the state, but for the providers, whose versions do not."""
    changing = [step for step in preview.steps if steps.fate(step) != "none" or step.type.startswith(PROVIDERS)]
    chosen = {name for step in changing if (name := _chosen_name(step))}
    return sorted((_planned(step, chosen) for step in changing), key=lambda each: (each.urn, each.operation))


def _planned(step: Step, chosen: set[str]) -> Planned:
    state = State({}) if step.new is None else step.new
    return Planned(
        urn=step.urn,
        operation=step.operation,
        inputs={key: _without_chosen(value, chosen) for key, value in state.inputs.items()},
        parent=state.parent,
        provider=state.provider.rpartition("::")[0],  # without the identity of a provider that is made anew
        keep=state.keep,
        protect=state.protect,
    )


def _chosen_name(step: Step) -> str:
    """The name of a new object for which the provider draws one in each preview."""
    if step.old is not None or step.new is None or not step.is_object:
        return ""
    metadata = mapping(step.new.inputs.get("metadata"))
    is_drawn = mapping(metadata.get("annotations")).get(AUTONAMED) == "true"
    return str(metadata.get("name", "")) if is_drawn else ""


def _without_chosen(value: Any, chosen: set[str]) -> Any:
    if not chosen:
        return value
    if isinstance(value, Mapping):
        return {key: _without_chosen(item, chosen) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_chosen(item, chosen) for item in value]
    if isinstance(value, str):
        for name in chosen:
            value = value.replace(name, CHOSEN_LATER)
    return value


class Seen(Struct, frozen=True):
    """What a preview says: the steps, the live objects that they touch, and the policy packs that have judged it, with
    their versions."""

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
