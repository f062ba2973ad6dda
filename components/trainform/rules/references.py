"""References to accelerator kinds, storage classes and roles. `queues` has the rules for references to queues."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from trainform.errors import MOST_NAMES, Problem, list_names
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import did_you_mean
from trainform.spec.quantities import is_too_small, is_whole, too_small

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
