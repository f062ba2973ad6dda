"""Rules for queues: the names in them, and their tree. Volcano's webhook checks their amounts at a preview."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainform import defaults
from trainform.errors import Problem, list_names
from trainform.plan.model import Plan
from trainform.rules.references import amount_problems, unknown
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import RESOURCE, matches
from trainform.spec.queue_fields import QueueRequest

AMOUNTS = ("capability", "deserved", "guarantee")


def environment_queue_problems(environment: Environment) -> Iterator[Problem]:
    """Yield the problems of the queues of an environment."""
    parents = {defaults.ROOT_QUEUE: None, **environment.queues}
    for name, request in environment.queues.items():
        yield from _queue_problems(f"queues.{name}", name, request, parents, environment)
    if environment.admission == defaults.KUEUE and environment.queues:
        reason = "the queues are Volcano's, and in this environment Kueue admits jobs"
        yield Problem("queues", None, reason, "remove them, or write `admission: volcano`")
    if defaults.ROOT_QUEUE in environment.queues:
        reason = "the queue is Volcano's own and cannot be changed"
        yield Problem(f"queues.{defaults.ROOT_QUEUE}", None, reason, "choose another name")


def job_queue_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of the queue that an experiment names or brings along."""
    name, request = plan.queue.name, plan.queue.request
    known = {**environment.queues, defaults.QUEUE: None}
    if request is not None:
        parents = {defaults.ROOT_QUEUE: None, **environment.queues}
        yield from _queue_problems("queue", name, request, parents, environment)
        if name in (*known, defaults.ROOT_QUEUE):
            reason = "the name belongs to a queue of the environment or of Volcano"
            yield Problem("queue.name", name, reason, f"write `queue: {name}` to use it, or choose another name")
        return
    if environment.admission == defaults.KUEUE:
        return  # the preflight looks for the LocalQueue in the cluster
    yield from unknown("queue", name, known, "queue")
    children = [child for child, queue in environment.queues.items() if queue.parent == name]
    if children:
        reason = "the queue has queues below it, and Volcano takes jobs into leaves only"
        yield Problem("queue", name, reason, f"known: {list_names(children)}")


def _queue_problems(
    path: str, name: str, request: QueueRequest, parents: Collection[str], environment: Environment
) -> Iterator[Problem]:
    for field in AMOUNTS:
        amounts: dict[str, str] = getattr(request, field)
        yield from amount_problems(f"{path}.{field}", amounts)
        for key in amounts:
            if not matches(RESOURCE, key):
                yield from unknown(f"{path}.{field}.{key}", key, environment.accelerators, "kind of accelerator")
    yield from unknown(f"{path}.parent", request.parent, parents, "queue")
    if request.parent != defaults.ROOT_QUEUE and name in _ancestors(request.parent, environment):
        reason = "the parent makes the queue its own ancestor"
        yield Problem(f"{path}.parent", request.parent, reason, f"write {defaults.ROOT_QUEUE}, or leave it out")


def _ancestors(name: str, environment: Environment) -> dict[str, None]:
    """Return the queue and the queues above it that the environment has."""
    line: dict[str, None] = {}
    while name in environment.queues and name not in line:
        line[name] = None
        name = environment.queues[name].parent
    return line
