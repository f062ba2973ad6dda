"""The environment's own objects: namespace, queues, shared claims, priority classes."""

from __future__ import annotations

from trainform.backends.queues import queue_manifest
from trainform.errors import InputError
from trainform.manifests.manifest import Manifest, ownership, stamped
from trainform.manifests.objects import claim, namespace, priority_class
from trainform.plan.build import plan_claim, queue_amounts
from trainform.plan.environment import environment_problems
from trainform.plan.model import QueuePlan
from trainform.spec.environment import Environment
from trainform.spec.queues import EnvironmentQueue


def platform_manifests(environment: Environment) -> list[Manifest]:
    """Every object of the environment in the order in which they are made; InputError with every problem of the file."""
    problems = environment_problems(environment)
    if problems:
        raise InputError(problems)
    labels = ownership(environment.name, environment=environment.name)
    name = environment.namespace.name
    queues = [
        queue_manifest(QueuePlan(queue, request, queue_amounts(request, environment)), labels)
        for queue, request in _parents_first(environment).items()
        if request.create
    ]
    manifests = [
        *([namespace(name, labels)] if environment.namespace.create else []),
        *queues,
        *(priority_class(key, request, labels) for key, request in environment.priority_classes.items()),
        *(
            claim(plan_claim(key, key, request, environment), name, labels)
            for key, request in environment.claims.items()
        ),
    ]
    return [stamped(manifest) for manifest in manifests]


def _parents_first(environment: Environment) -> dict[str, EnvironmentQueue]:
    """Queues below their parents, as Volcano wants them made. None is its own ancestor: that is told before."""
    queues = environment.queues
    depths: dict[str, int] = {}
    for name in queues:
        above: list[str] = []
        while name in queues and name not in depths:
            above.append(name)
            name = queues[name].parent
        depth = depths.get(name, 0)
        depths |= {queue: depth + number for number, queue in enumerate(reversed(above), 1)}
    return dict(sorted(queues.items(), key=lambda item: depths[item[0]]))
