"""Where objects name a queue, a priority class, or how long they stay after their end: for the environment's rules, which know no operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.gangs import GROUP_ANNOTATION, QUEUE_ANNOTATION, QUEUE_LABEL
from trainform.backends.paths import places, written
from trainform.backends.workloads import value_at
from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Named

PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


class JobFields(Struct, frozen=True):
    """Paths (`backends.paths`) in the objects of one kind.

    queue: the queue in which the pods wait; an object without it is in Volcano's queue `default`. more_queues: other places that may name one.
    admission: what reads them. labelled: the path of the object inside this one whose labels and annotations count, if it is another one. priority_class: its priority class beside that of the pods. ttl: the seconds until it is deleted after its end.
    """

    queue: str | None = None
    more_queues: tuple[str, ...] = ()
    admission: str = defaults.VOLCANO
    labelled: str = ""
    priority_class: str | None = None
    ttl: str | None = None


Kinds = Mapping[tuple[str, str], JobFields]
"""The fields by API group and kind."""

_SHARED: Kinds = {
    ("scheduling.volcano.sh", "PodGroup"): JobFields(queue="spec.queue", priority_class="spec.priorityClassName"),
    ("batch", "Job"): JobFields(ttl="spec.ttlSecondsAfterFinished"),
    ("batch", "CronJob"): JobFields(labelled="spec.jobTemplate", ttl="spec.jobTemplate.spec.ttlSecondsAfterFinished"),
    ("kueue.x-k8s.io", "Workload"): JobFields(
        more_queues=("spec.queueName",), admission=defaults.KUEUE, priority_class="spec.priorityClassName"
    ),
}
_IN_METADATA = (
    ("queue", defaults.VOLCANO, "annotations", QUEUE_ANNOTATION),
    ("queue", defaults.KUEUE, "labels", QUEUE_LABEL),
    ("priority_class", defaults.KUEUE, "labels", PRIORITY_LABEL),
)


def named(
    objects: Mapping[str, dict[str, Any]], templates: Iterable[Template], kinds: Iterable[Kinds]
) -> tuple[Named, ...]:
    """What the objects, and the pods that they make, name. kinds: of the operators whose objects may be among them."""
    known = {**_SHARED, **{kind: fields for table in kinds for kind, fields in table.items()}}
    found = [name for key, body in objects.items() for name in _of_object(key, body, known)]
    in_queue = any(name.what == "queue" and name.admission == defaults.VOLCANO for name in found)
    return (*found, *(name for template in templates for name in _of_template(template, in_queue)))


def _of_object(key: str, body: dict[str, Any], known: Kinds) -> Iterator[Named]:
    group = str(body.get("apiVersion", "")).partition("/")[0]
    fields = known.get((group, str(body.get("kind"))), JobFields())
    yield from _of_metadata(mapping(value_at(body, fields.labelled)), Named("", None, fields.labelled, None, key))
    yield from _at("queue", fields.admission, fields.queue, key, body, absent=True)
    for path in fields.more_queues:
        yield from _at("queue", fields.admission, path, key, body)
    yield from _at("priority_class", None, fields.priority_class, key, body)
    yield from _at("ttl", None, fields.ttl, key, body, absent=True)


def _at(
    what: str, admission: str | None, path: str | None, key: str, body: dict[str, Any], absent: bool = False
) -> Iterator[Named]:
    """What stands at the path. absent: also that nothing stands there."""
    if path is None:
        return
    found = [Named(what, admission, written(place), holder[last], key) for holder, last, place in places(body, path)]
    given = [name for name in found if name.value not in (None, "")]
    yield from given
    if absent and not given:
        yield Named(what, admission, path, None, key)


def _of_template(template: Template, in_queue: bool) -> Iterator[Named]:
    """in_queue: an object says in which queue of Volcano's the pods wait."""
    found = [*_of_metadata(template.body, Named("", None, "", None, None, template))]
    yield from found
    alone = not in_queue and GROUP_ANNOTATION not in template.annotations
    if alone and not any(name.admission == defaults.VOLCANO for name in found):
        yield Named("queue", defaults.VOLCANO, f"metadata.annotations.{QUEUE_ANNOTATION}", None, None, template)


def _of_metadata(body: dict[str, Any], where: Named) -> Iterator[Named]:
    metadata = mapping(body.get("metadata"))
    for what, admission, field, key in _IN_METADATA:
        value = mapping(metadata.get(field)).get(key)
        if value not in (None, ""):
            path = ".".join(filter(None, (where.where, "metadata", field, key)))
            yield structs.replace(where, what=what, admission=admission, where=path, value=value)
