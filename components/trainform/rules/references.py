"""Rules for names that refer to something: accelerator kinds, storage classes, roles, and queues with their tree.

Volcano's webhook checks the amounts of queues at a preview.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from trainform import defaults
from trainform.errors import MOST_NAMES, Problem, list_names
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import RESOURCE, did_you_mean, matches
from trainform.spec.quantities import is_too_small, is_whole, too_small
from trainform.spec.queue_fields import QueueRequest

BYTES = ("memory", "ephemeral-storage")  # resources that are counted in bytes


def reference_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield references to kinds, classes, resources and roles that do not exist."""
    fields = {"cpu": "cpu", "memory": "memory"}
    fields |= {offered.resource: f"accelerators.{kind}" for kind, offered in environment.accelerators.items()}
    if environment.rdma is not None and not experiment.network.rdma:  # with it, a role may have another number
        fields[environment.rdma.resource] = "network.rdma"
    for name, role in experiment.roles.items():
        for kind in role.accelerators:
            yield from unknown(
                f"roles.{name}.accelerators.{kind}", kind, environment.accelerators, "kind of accelerator"
            )
        yield from amount_problems(f"roles.{name}.resources", role.resources)
        for resource, quantity in role.resources.items():
            if resource in fields:
                reason = "the resource has a field of its own"
                fix = f"remove it here; write `{fields[resource]}`"
                yield Problem(f"roles.{name}.resources.{resource}", quantity, reason, fix)
    for key, volume in experiment.storage.items():
        yield from unknown(f"storage.{key}.class", volume.storage_class, environment.storage_classes, "storage class")
    if experiment.network.rdma and environment.rdma is None:
        reason = f"the experiment asks for RDMA, which the environment {environment.name} does not have"
        yield Problem("network.rdma", True, reason, "remove it, or choose another environment")
    for path, name in _named_roles(experiment):
        if name not in experiment.roles:
            reason = "the experiment has no role of this name"
            yield Problem(path, name, reason, f"known: {list_names(experiment.roles)}")


def _named_roles(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each role to which a field refers."""
    lists = {f"storage.{key}.roles": volume.roles for key, volume in experiment.storage.items()}
    lists |= {f"prepare[{index}].roles": step.roles for index, step in enumerate(experiment.prepare)}
    lists["ssh.roles"] = None if experiment.ssh is None else experiment.ssh.roles
    for path, names in lists.items():
        yield from ((f"{path}[{index}]", name) for index, name in enumerate([] if names is None else names))
    over_ssh = experiment.launcher.over_ssh
    if over_ssh is not None and over_ssh.role is not None:
        yield f"launcher.{experiment.launcher.kind}.role", over_ssh.role


def unknown(path: str, name: str | None, known: Collection[str], word: str) -> list[Problem]:
    """Return a problem if the environment does not define the name. None is not a name."""
    if name is None or name in known:
        return []
    others = f"known: {list_names(known)}" if known else "add it to the environment"
    # a comparison is slow, and every name in a file may be wrong
    fix = did_you_mean(name, itertools.islice(known, MOST_NAMES)) or others
    return [Problem(path, name, f"the environment has no {word} of this name", fix)]


def amount_problems(path: str, amounts: dict[str, str]) -> Iterator[Problem]:
    """Yield wrong quantities by resource name or accelerator kind: only CPU may be a fraction."""
    for name, quantity in amounts.items():
        where = f"{path}.{name}"
        if name != "cpu" and not is_whole(quantity):
            reason = "the value is a fraction; Kubernetes counts it in whole numbers"
            yield Problem(where, quantity, reason, "write a whole number")
        elif name in BYTES and is_too_small(quantity):
            yield Problem(where, quantity, *too_small(quantity))


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
