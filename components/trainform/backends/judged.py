"""The parts of a job that the environment's rules judge, and the waivers that its objects carry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION, PRIORITY_LABEL, QUEUE_ANNOTATION, QUEUE_LABEL
from trainform.backends.backend import Backend, pods_of
from trainform.manifests.manifest import Manifest, mapping
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.rules.limits.rule import ADD_ON, CACHE, Judged, Judgement, Named
from trainform.spec.experiment import Experiment
from trainform.spec.limits import Waiver

_FIELDS = {
    "queue": ("queue", defaults.VOLCANO),
    "priorityClass": ("priority_class", None),
    "priorityClassName": ("priority_class", None),
    "ttlSecondsAfterFinished": ("ttl", None),
    "managedBy": ("manager", None),
    "cacheBackend": (CACHE, None),
    "modelVersion": (ADD_ON, None),
}
"""What the operators call these fields, wherever they have them. Only specs are searched, without the pod templates in
them. For the last two KubeDL 0.5.0 adds pods, images and volumes (apis/model/v1alpha1)."""
_OPERATORS = (
    "jobset.sigs.k8s.io/jobset-controller",
    "kubeflow.org/training-operator",
    "kubernetes.io/job-controller",
    "trainer.kubeflow.org/trainjob-controller",
)
"""The managers that mean the operator itself."""
_NO_NAMES: tuple[Any, ...] = ("", {}, *_OPERATORS)
_METADATA = (
    ("annotations", QUEUE_ANNOTATION, "queue", defaults.VOLCANO),
    ("labels", QUEUE_LABEL, "queue", defaults.KUEUE),
    ("labels", PRIORITY_LABEL, "priority_class", defaults.KUEUE),
    # KubeDL makes a container of each, of any image: pkg/code_sync and pkg/tensorboard
    ("annotations", "kubedl.io/git-sync-config", ADD_ON, None),
    ("annotations", "kubedl.io/tensorboard-config", ADD_ON, None),
)


def named(objects: Mapping[str, dict[str, Any]], templates: Sequence[Template]) -> tuple[Named, ...]:
    """Return what the objects, and the metadata of their pods, name. If no queue of Volcano holds the pods, they name
    one without a value."""
    found = [name for key, body in objects.items() for name in _names(body, "", key)]
    for template in templates:
        found += _names_in_metadata(template.body, "", None, template)
    in_queue = any(name.what == "queue" and name.admission == defaults.VOLCANO for name in found)
    has_group = any(body.get("kind") == "PodGroup" for body in objects.values())
    if not in_queue and (has_group or any(GROUP_ANNOTATION not in template.annotations for template in templates)):
        found.append(Named("queue", defaults.VOLCANO, "spec.queue", None))
    return tuple(found)


def _names(body: Any, path: str, key: str, *, below: bool = False) -> Iterator[Named]:
    """below: False for the object itself, of which only the spec is searched."""
    if isinstance(body, list):
        for index, item in enumerate(body):
            yield from _names(item, f"{path}.{mapping(item).get('name', index)}", key, below=True)
    if not isinstance(body, dict) or "containers" in mapping(body.get("spec")):
        return
    yield from _names_in_metadata(body, path, key, None)
    for field, value in body.items() if below else [("spec", body.get("spec"))]:
        where = f"{path}.{field}" if path else field
        what, admission = _FIELDS.get(field, ("", None))
        if what and isinstance(value, dict if what in (ADD_ON, CACHE) else str | int) and value not in _NO_NAMES:
            yield Named(what, admission, where, value, key)
        elif field != "metadata":
            yield from _names(value, where, key, below=True)


def _names_in_metadata(body: dict[str, Any], path: str, key: str | None, template: Template | None) -> Iterator[Named]:
    metadata = mapping(body.get("metadata"))
    for field, name, what, admission in _METADATA if metadata else ():
        value = mapping(metadata.get(field)).get(name)
        if value not in (None, ""):
            where = ".".join(filter(None, (path, "metadata", field, name)))
            yield Named(what, admission, where, value, key, template)


def judged_object(key: str, body: dict[str, Any], templates: Sequence[Template], admission: str) -> Judged:
    """Return one object with its pods, judged alone. admission: of the environment, whose queue counts."""
    names = named({key: body}, templates)
    queues = (name.value for name in names if name.what == "queue" and name.admission == admission)
    queue = next((str(value) for value in queues if value is not None), None)
    return Judged({key: body}, tuple(templates), queue=queue, names=names)


def judged_job(experiment: Experiment, plan: Plan, manifests: Sequence[Manifest], backend: Backend) -> Judged:
    """Return the objects of a job with their pods, and what the objects name in addition to their pods."""
    objects = {manifest.key: manifest.body for manifest in manifests}
    templates = tuple(backend.templates(plan, manifests))
    return Judged(
        objects,
        templates,
        experiment.user_set(),
        plan.queue.name,
        plan.queue.request,
        named(objects, templates),
        frozenset(manifest.key for manifest in manifests if manifest.keep),
        frozenset(role.name for role in plan.ranked),
        plan.admission in backend.ADMISSIONS,
    )


NAMED = ""
"""Stands for the objects that name a queue or a priority class; no object has this key."""


def with_waivers(
    manifests: Iterable[Manifest], waivers: Sequence[Waiver], found: Iterable[Judgement], owner: str
) -> list[Manifest]:
    """Return the objects with an annotation of the waivers that match a finding in them; the others unchanged.

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
