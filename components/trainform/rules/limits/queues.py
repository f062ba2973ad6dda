"""Queues that experiments may name or bring, and the priority of pods and jobs in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged, Named
from trainform.rules.limits.rule import Finding, not_allowed
from trainform.spec.environment import Environment

GROUP = "scheduling.volcano.sh/"
VOLCANOS = (defaults.QUEUE, defaults.ROOT_QUEUE)
"""Queues that Volcano creates itself."""
ASK_WEIGHT = "write less, or ask the platform team for limits.max_queue_weight"


def allowed_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield queues that experiments may not name in this environment, each name once."""
    allowed = _allowed(judged, environment)
    found: set[str] = set()
    for named in judged.names if allowed is not None else ():
        name = _queue(named, environment)
        if allowed is not None and name is not None and name not in allowed and name not in found:
            found.add(name)
            words = not_allowed("this queue", allowed, "queues", environment)
            yield Finding(named.where, name, *words, named.template, named.key, everywhere=True)


def own_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield queues that an experiment may not bring, or change, in this environment."""
    limits = environment.limits
    for key, name, spec in queues_in(judged):
        if name in (*environment.queues, *VOLCANOS):
            # the environment's stack has these queues; `rules.queues` reports such a name of the experiment's queue
            if name != judged.queue and judged.templates:
                reason = (
                    f"the queue belongs to the environment {environment.name} or to Volcano, and other jobs depend "
                    "on it"
                )
                yield Finding("metadata.name", name, reason, "choose another name", key=key)
            continue
        if not limits.own_queues:
            reason = f"the environment {environment.name} does not let experiments bring queues of their own"
            # a waiver of the queue is bound to its fields too
            yield Finding("metadata.name", name, reason, "name a queue of the environment", key=key, bound=[name, spec])
        if limits.max_queue_weight is not None and _number(spec.get("weight")) > limits.max_queue_weight:
            reason = f"the weight is more than the environment {environment.name} allows ({limits.max_queue_weight})"
            yield Finding("spec.weight", spec["weight"], reason, ASK_WEIGHT, key=key)


def _allowed(judged: Judged, environment: Environment) -> Mapping[str, None] | None:
    """Return the names that are allowed; None if the limits leave all of them open."""
    limits = environment.limits
    own = [name for _, name, _ in queues_in(judged) if limits.own_queues]
    if limits.queues is not None:
        return dict.fromkeys([*limits.queues, *own])
    if limits.own_queues or environment.admission == defaults.KUEUE:
        return None
    return dict.fromkeys([*environment.queues, defaults.QUEUE])


def _queue(named: Named, environment: Environment) -> str | None:
    """Return the name if it is of a queue of the environment's admission; otherwise None."""
    if named.what != "queue" or named.admission != environment.admission:
        return None
    return defaults.QUEUE if named.value is None else str(named.value)


def queues_in(judged: Judged) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield key, name and spec of each Volcano queue."""
    for key, body in judged.of_kind("Queue"):
        if str(body.get("apiVersion")).startswith(GROUP):
            yield key, str(mapping(body.get("metadata")).get("name")), mapping(body.get("spec"))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


SYSTEM_PREFIX = "system-"


def priority_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield priority classes that the environment does not allow, and priorities without a class."""
    classes = [(template, template.spec.get("priorityClassName")) for template in judged.templates]
    for template, name in classes:
        yield from _class(Finding("spec.priorityClassName", name, "", "", template), environment)
        if template.spec.get("priority") is not None:
            reason = "the pods set a priority as a number, which only a priority class may give"
            fix = "remove it; write `priority_class`"
            yield Finding("spec.priority", template.spec["priority"], reason, fix, template)
    for named in judged.names:
        if named.what == "priority_class" and named.value not in [name for _, name in classes]:
            yield from _class(Finding(named.where, named.value, "", "", named.template, named.key), environment)


def _class(finding: Finding, environment: Environment) -> Iterator[Finding]:
    """Yield the finding, with reason and fix, if the environment does not allow the class."""
    if finding.value in (None, ""):
        return
    limits, own = environment.limits, environment.priority_classes
    allowed = limits.priority_classes if limits.priority_classes is not None else list(own) if own else None
    name = str(finding.value)
    if name not in allowed if allowed is not None else name.startswith(SYSTEM_PREFIX):
        listed = [f"any but {SYSTEM_PREFIX}…"] if allowed is None else allowed
        reason, fix = not_allowed("this priority class", listed, "priority_classes", environment)
        yield structs.replace(finding, reason=reason, fix=fix, everywhere=True)
