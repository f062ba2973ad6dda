"""The environment's own objects: its namespace, queues, shared claims and priority classes."""

from __future__ import annotations

from graphlib import TopologicalSorter

from msgspec import Struct

from trainform.backends.admission import queue_manifest
from trainform.errors import InputError, Problem
from trainform.manifests.manifest import Manifest, ownership, with_own_annotations
from trainform.manifests.objects import claim, namespace, priority_class
from trainform.plan.build import plan_claim, queue_amounts
from trainform.plan.model import QueuePlan
from trainform.rules.limits.origins import platform_problem
from trainform.rules.limits.rule import Judged
from trainform.rules.limits.table import judge, verdict
from trainform.rules.references import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.queue_fields import EnvironmentQueue


class RenderedPlatform(Struct, frozen=True):
    """An environment with its objects, and what its own rules find in them."""

    environment: Environment
    manifests: tuple[Manifest, ...]
    """The objects in the order in which they are created."""
    problems: tuple[Problem, ...]
    """The problems of the objects; `rules.references` finds those of the environment's file."""
    warnings: tuple[str, ...]
    """What the rules find whose severity is a warning."""
    found: tuple[tuple[Problem, str], ...] = ()
    """Each finding of the rules with its severity."""


def render_platform(environment: Environment) -> RenderedPlatform:
    """Return the objects of the environment's stack, judged by its limits. Raises InputError with every problem of the
    environment's file."""
    manifests = platform_manifests(environment)
    judged = Judged({manifest.key: manifest.body for manifest in manifests}, ())
    found = [(platform_problem(judgement, environment), judgement.severity) for judgement in judge(judged, environment)]
    result = verdict(found, (), environment, None)
    return RenderedPlatform(environment, tuple(manifests), result.problems, result.notes, result.found)


def platform_manifests(environment: Environment) -> list[Manifest]:
    """Return every object of the environment in the order in which they are created. Raises InputError with every
    problem of the environment."""
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
    return [with_own_annotations(manifest) for manifest in manifests]


def _parents_first(environment: Environment) -> dict[str, EnvironmentQueue]:
    """Return the queues, each after its parent, since Volcano refuses a queue without its parent. A cycle of parents is
    refused before."""
    queues = environment.queues
    parents = {name: [queue.parent] if queue.parent in queues else [] for name, queue in queues.items()}
    return {name: queues[name] for name in TopologicalSorter(parents).static_order()}
