"""Names that one file uses and the other defines: accelerator kinds, storage classes, queues, roles."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import RESOURCE
from trainform.spec.quantities import amount
from trainform.spec.queues import OwnQueue, QueueRequest


def environment_problems(environment: Environment) -> list[Problem]:
    """Every problem of an environment by itself."""
    problems = [
        problem
        for name, request in environment.queues.items()
        for problem in _queue_problems(f"queues.{name}", request, environment)
    ]
    for name, claim in environment.claims.items():
        problems += _unknown(f"claims.{name}.class", claim.storage_class, environment.storage_classes, "storage class")
    owners: dict[str, str] = {}
    for kind, accelerator in environment.accelerators.items():
        if (
            accelerator.resource in owners
            and accelerator.node_selector == environment.accelerators[owners[accelerator.resource]].node_selector
        ):
            problems.append(
                Problem(
                    f"accelerators.{kind}.resource",
                    accelerator.resource,
                    f"is the resource of {owners[accelerator.resource]} too, on the same nodes",
                    "give one of the two kinds a node_selector, or remove it",
                )
            )
        owners.setdefault(accelerator.resource, kind)
    if "root" in environment.queues:
        problems.append(Problem("queues.root", None, "is Volcano's own and cannot be changed", "choose another name"))
    return problems


def reference_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for name, role in experiment.roles.items():
        for kind in role.accelerators:
            yield from _unknown(
                f"roles.{name}.accelerators.{kind}", kind, environment.accelerators, "kind of accelerator"
            )
        own = {
            environment.accelerators[kind].resource for kind in role.accelerators if kind in environment.accelerators
        }
        if experiment.network.rdma and environment.rdma is not None and role.ranked:
            own.add(environment.rdma.resource)
        for resource in role.resources:
            if resource in own | {"cpu", "memory"}:
                yield Problem(
                    f"roles.{name}.resources.{resource}",
                    role.resources[resource],
                    "is asked for twice",
                    "remove it here; it has a field of its own",
                )
    for key, volume in experiment.storage.items():
        yield from _unknown(f"storage.{key}.class", volume.storage_class, environment.storage_classes, "storage class")
        for index, role_name in enumerate(volume.roles if volume.roles is not None else ()):
            if role_name not in experiment.roles:
                yield Problem(
                    f"storage.{key}.roles[{index}]",
                    role_name,
                    "is not a role of this experiment",
                    f"known: {', '.join(experiment.roles)}",
                )
    if experiment.network.rdma and environment.rdma is None:
        yield Problem(
            "network.rdma",
            True,
            f"asks for RDMA, which the environment {environment.name} does not have",
            "remove it, or choose another environment",
        )
    if not isinstance(experiment.queue, OwnQueue):
        yield from _unknown("queue", experiment.queue, {**environment.queues, defaults.QUEUE: None}, "queue")
    else:
        yield from _queue_problems("queue", experiment.queue, environment)
        if plan.queue.name in {*environment.queues, defaults.QUEUE, "root"}:
            yield Problem(
                "queue.name",
                plan.queue.name,
                "belongs to the environment or to Volcano",
                f"write `queue: {plan.queue.name}` to use it, or choose another name",
            )


def _queue_problems(path: str, request: QueueRequest, environment: Environment) -> list[Problem]:
    problems = []
    for field in ("capability", "deserved", "guarantee"):
        for key in getattr(request, field):
            if key not in environment.accelerators and re.match(RESOURCE, key) is None:
                problems += _unknown(f"{path}.{field}.{key}", key, environment.accelerators, "kind of accelerator")
    for key, guaranteed in request.guarantee.items():
        if key not in request.deserved or amount(request.deserved[key]) < amount(guaranteed):
            problems.append(
                Problem(
                    f"{path}.guarantee.{key}",
                    guaranteed,
                    "is more than the queue deserves",
                    f"write `deserved: {{{key}: {guaranteed}}}` or more",
                )
            )
    for key, deserved in request.deserved.items():
        if key in request.capability and amount(deserved) > amount(request.capability[key]):
            problems.append(
                Problem(
                    f"{path}.deserved.{key}",
                    deserved,
                    "is more than the queue's capability",
                    f"write {request.capability[key]} or less",
                )
            )
    return problems


def _unknown(path: str, name: str | None, known: Iterable[str], word: str) -> list[Problem]:
    if name is None or name in known:
        return []
    near = difflib.get_close_matches(name, list(known), 1)
    names = ", ".join(known)
    fix = f"did you mean {near[0]}?" if near else f"known: {names}" if names else "add it to the environment"
    return [Problem(path, name, f"is not a {word} of the environment", fix)]
