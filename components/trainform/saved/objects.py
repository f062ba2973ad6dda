"""The live objects that a change touches, as far as it matters to the change: whether they are there, which they are,
and what of them is not as it was applied last.

What controllers and others write beside that is no part of it, and moves by itself: versions, status, Kueue's switches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainform.cluster.drift import drift_of
from trainform.drift.read import Key, Live, Reads, key_of
from trainform.manifests.manifest import Manifest
from trainform.manifests.shapes import mapping
from trainform.review import steps
from trainform.review.objects import applied
from trainform.review.preview import Preview, Step
from trainform.saved.model import Touched
from trainform.spec.environment import Environment


def touched(preview: Preview, environment: Environment) -> list[Touched]:
    """The live objects that the engine makes, changes or deletes. Raises `ClusterError`."""
    wanted = {key_of(each): each for each in _wanted(preview, environment.namespace.name)}
    with Reads(environment.cluster.context) as reads:
        live = reads.objects(wanted.values())
    return [_touched(key, wanted[key], live[key]) for key in sorted(wanted)]


def _wanted(preview: Preview, namespace: str) -> Iterator[Manifest]:
    """The objects after the change, then those before it, whose fields are known: as they were applied last, without
    secrets."""
    changing = [step for step in preview.steps if step.is_object and steps.fate(step) != "none"]
    for step in changing:
        yield from _named(_body(step, after=True, namespace=namespace), fields=False)
    for step in changing:
        yield from _named(_body(step, after=False, namespace=namespace), fields=True)


def _body(step: Step, namespace: str, *, after: bool) -> dict[str, Any]:
    state = step.new if after else step.old
    if state is None:
        return {}
    body = {**steps.body(step, state), **applied(state).body}
    return {**body, "metadata": {"namespace": namespace, **mapping(body.get("metadata"))}}


def _named(body: Mapping[str, Any], *, fields: bool) -> Iterator[Manifest]:
    """The object, if its name is known."""
    metadata = mapping(body.get("metadata"))
    if isinstance(metadata.get("name"), str):
        kept = body if fields else {key: body[key] for key in ("apiVersion", "kind", "metadata")}
        yield Manifest("", dict(kept))


def _touched(key: Key, wanted: Manifest, live: Live) -> Touched:
    api_version, kind, namespace, name = key
    found = Touched(api_version=api_version, kind=kind, namespace=namespace, name=name, unread=live.reason)
    if live.body is None:
        return found
    metadata = mapping(live.body.get("metadata"))
    fields = {drift.path: drift.live for drift in drift_of(wanted.body, live.body)}
    return found.model_copy(update={"uid": str(metadata.get("uid", "")), "fields": fields})


def unread(objects: Sequence[Touched]) -> list[str]:
    """What could not be read, as sentences."""
    return [f"{each.kind} {each.name} is not compared: {each.unread}." for each in objects if each.unread]
