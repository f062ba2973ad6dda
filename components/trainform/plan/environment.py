"""What an environment gets wrong by itself."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import Problem
from trainform.plan.queues import environment_queue_problems
from trainform.plan.references import Known, unknown
from trainform.spec.environment import Environment

SYSTEM_PREFIX = "system-"


def environment_problems(environment: Environment) -> list[Problem]:
    """Every problem of an environment by itself."""
    return [
        *environment_queue_problems(environment),
        *_claims(environment),
        *_accelerators(environment),
        *_priorities(environment),
    ]


def _claims(environment: Environment) -> Iterator[Problem]:
    classes = Known(environment.storage_classes)
    for name, claim in environment.claims.items():
        yield from unknown(f"claims.{name}.class", claim.storage_class, classes, "storage class")


def _accelerators(environment: Environment) -> Iterator[Problem]:
    owners: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    for kind, accelerator in environment.accelerators.items():
        nodes = (accelerator.resource, tuple(sorted(accelerator.node_selector.items())))
        if nodes in owners:
            yield Problem(
                f"accelerators.{kind}.resource",
                accelerator.resource,
                f"is the resource of {owners[nodes]} too, on the same nodes",
                "give one of the two kinds a node_selector, or remove it",
            )
        owners.setdefault(nodes, kind)
        if environment.rdma is not None and accelerator.resource == environment.rdma.resource:
            yield Problem(
                "rdma.resource",
                accelerator.resource,
                f"is the resource of the accelerator {kind}",
                "correct one of the two",
            )


def _priorities(environment: Environment) -> Iterator[Problem]:
    for name in environment.priority_classes:
        if name.startswith(SYSTEM_PREFIX):
            yield Problem(
                f"priority_classes.{name}", None, f"starts with {SYSTEM_PREFIX}, which Kubernetes keeps for itself", "choose another name"
            )  # fmt: skip
