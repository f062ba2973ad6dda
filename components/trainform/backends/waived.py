"""Waivers on the objects whose findings they waive, for those who judge the objects alone, as the policy pack does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec import structs

from trainform import defaults
from trainform.backends.judged import named
from trainform.backends.pods import pods_of
from trainform.manifests.manifest import Manifest
from trainform.rules.limits.rule import Judgement
from trainform.spec.waivers import Waiver

NAMED = ""
"""Stands for the objects that name a queue or a priority class; no object has this key."""


def with_waivers(
    manifests: Iterable[Manifest], waivers: Sequence[Waiver], found: Iterable[Judgement], owner: str
) -> list[Manifest]:
    """The objects with an annotation of the waivers that match a finding in them; the others unchanged.

    A finding in pods, or in all pods together, is one of the objects that have pod templates; one that several objects
    repeat is one of those too that name a queue or a priority class. The annotation is on the object's metadata alone,
    so it changes in place, and is no part of the revision.
    """
    keys: dict[str | None, set[tuple[str, str]]] = {}
    for judgement in found:
        finding = judgement.finding
        key = finding.key if finding.template is None else None
        for place in (None, NAMED) if finding.everywhere else (key,):
            keys.setdefault(place, set()).add((judgement.rule.code, judgement.fingerprint(owner)))
    return [_annotated(manifest, waivers, keys) for manifest in manifests]


def _annotated(manifest: Manifest, waivers: Sequence[Waiver], keys: dict[str | None, set[tuple[str, str]]]) -> Manifest:
    of_pods, of_named = pods_of(manifest.body), named({manifest.key: manifest.body}, ())
    inside = keys.get(manifest.key, set())
    inside |= keys.get(None, set()) if of_pods else set()
    inside |= keys.get(NAMED, set()) if of_named else set()
    matching = [waiver.model_dump(mode="json") for waiver in waivers if (waiver.rule, waiver.finding) in inside]
    if not matching:
        return manifest
    metadata = manifest.body["metadata"]
    annotations = {**metadata.get("annotations", {}), defaults.WAIVERS_ANNOTATION: json.dumps(matching)}
    return structs.replace(manifest, body={**manifest.body, "metadata": {**metadata, "annotations": annotations}})
