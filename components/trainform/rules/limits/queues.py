"""Queues: those that jobs may name, and what the queue that an experiment brings may take from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.errors import list_names
from trainform.manifests.shapes import mapping, quantity
from trainform.rules.limits.judged import Judged, Named
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment
from trainform.spec.queues import EnvironmentQueue

GROUP = "scheduling.volcano.sh/"
VOLCANOS = (defaults.QUEUE, defaults.ROOT_QUEUE)
"""Queues that Volcano makes itself."""
ASK_QUEUES = "use another one, or ask the platform team for limits.queues"
ASK_WEIGHT = "write less, or ask the platform team for limits.max_queue_weight"
ASK_SHARES = "remove it; ask the platform team for a queue of the environment"


def allowed_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Queues that the environment does not let experiments name, wherever an object names one; each name once."""
    allowed = _allowed(judged, environment)
    found: set[str] = set()
    for named in judged.names if allowed is not None else ():
        name = _queue(named, environment)
        if allowed is not None and name is not None and name not in allowed and name not in found:
            found.add(name)
            listed = list_names(allowed) if allowed else "none"
            reason = f"the environment {environment.name} does not let experiments use this queue (allowed: {listed})"
            yield Finding(named.where, name, reason, ASK_QUEUES, named.template, named.key, everywhere=True)


def own_queues(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Queues that the environment does not allow an experiment to bring, or to change."""
    limits = environment.limits
    for key, name, spec in queues_in(judged):
        listed = environment.queues.get(name)
        if listed is not None or name in VOLCANOS:
            # the experiment's own queue may not have such a name, which is a problem of its file
            yield from _changed(key, name, spec, listed, environment) if judged.own_queue is None else ()
            continue
        if not limits.own_queues:
            reason = f"the environment {environment.name} does not let experiments bring queues of their own"
            # who agrees to a queue agrees to its fields
            yield Finding("metadata.name", name, reason, "name a queue of the environment", key=key, bound=[name, spec])
        if limits.max_queue_weight is not None and _number(spec.get("weight")) > limits.max_queue_weight:
            reason = f"the weight is more than the environment {environment.name} allows ({limits.max_queue_weight})"
            yield Finding("spec.weight", spec["weight"], reason, ASK_WEIGHT, key=key)


def neighbours(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Queues of experiments with fields that take from other queues."""
    for key, name, spec in queues_in(judged):
        if name in environment.queues:
            continue
        parent = spec.get("parent", defaults.ROOT_QUEUE)
        for field, value, takes, reason in (
            ("reclaimable", spec.get("reclaimable"), spec.get("reclaimable") is False, "the queue gives nothing back that it uses above its share"),
            ("priority", spec.get("priority"), _number(spec.get("priority")) > 0, "the queue is served before others"),
            ("guarantee", None, bool(spec.get("guarantee")), "the queue keeps resources free for itself"),
            ("affinity", None, bool(spec.get("affinity")), "the queue chooses groups of nodes"),
            ("parent", parent, parent not in (defaults.ROOT_QUEUE, *environment.queues), "the queue is below one that is not the environment's"),
        ):  # fmt: skip
            if takes:
                bound = spec.get(field) if value is None else None
                text = f"{reason}, at the cost of its neighbours"
                yield Finding(f"spec.{field}", value, text, ASK_SHARES, key=key, bound=bound)


def _allowed(judged: Judged, environment: Environment) -> Mapping[str, None] | None:
    """The names that are allowed; None if the limits leave all of them open. The queue that an experiment names is then held against the
    environment's queues where the file is checked; a job of somebody else may name the queue of an experiment."""
    limits = environment.limits
    own = [name for _, name, _ in queues_in(judged) if limits.own_queues]
    if limits.queues is not None:
        return dict.fromkeys([*limits.queues, *own])
    if limits.own_queues or environment.admission == defaults.KUEUE:
        return None
    return dict.fromkeys([*environment.queues, defaults.QUEUE])


def _queue(named: Named, environment: Environment) -> str | None:
    """The queue of the environment's admission that something names; None if it names none."""
    if named.what != "queue" or named.admission != environment.admission:
        return None
    return defaults.QUEUE if named.value is None else str(named.value)


def queues_in(judged: Judged) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each queue of Volcano's with its key, its name and its spec."""
    for key, body in judged.of_kind("Queue"):
        if str(body.get("apiVersion")).startswith(GROUP):
            yield key, str(mapping(body.get("metadata")).get("name")), mapping(body.get("spec"))


def _changed(
    key: str, name: str, spec: dict[str, Any], listed: EnvironmentQueue | None, environment: Environment
) -> Iterator[Finding]:
    """Fields in which the queue differs from what the environment says of it; those that it does not name stay as they are."""
    if listed is None or name == defaults.ROOT_QUEUE:
        reason = "the queue is Volcano's own, and the other queues of the cluster depend on it"
        yield Finding("metadata.name", name, reason, "name a queue of the environment", key=key, bound=[name, spec])
        return
    wanted = {field: getattr(listed, field) for field in ("weight", "reclaimable", "parent", "priority")}
    wanted |= {field: _by_resource(getattr(listed, field), environment) for field in ("capability", "deserved")}
    guarantee = _by_resource(listed.guarantee, environment)
    wanted["guarantee"] = {"resource": guarantee} if guarantee else {}
    for field, given in spec.items():
        own = wanted.get(field)  # the environment says nothing of other fields
        if _comparable(given) != _comparable(own):
            has = "nothing" if own in (None, {}) else own
            reason = f"the queue {name} belongs to the environment {environment.name}, which has {has} here"
            yield Finding(f"spec.{field}", given, reason, "change the environment's file instead", key=key)


def _by_resource(amounts: Mapping[str, str], environment: Environment) -> dict[str, str]:
    """The amounts with accelerator kinds as the resources that they are in the cluster."""
    kinds = environment.accelerators
    return {kinds[key].resource if key in kinds else key: quantity for key, quantity in amounts.items()}


def _comparable(value: object) -> object:
    """The value with amounts as numbers, since a program may spell them in other ways; None if it is empty. All else is text, as names are."""
    if isinstance(value, dict):
        found = {key: _comparable(each) if isinstance(each, dict) else _amount(each) for key, each in value.items()}
        return found if found else None
    return value if isinstance(value, bool) or value is None else str(value)


def _amount(value: object) -> object:
    read = quantity(value)
    return str(value) if read is None else read


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
