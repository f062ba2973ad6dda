"""Volcano queues: what an environment offers and what an experiment may bring along."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trainform.catalog import defaults
from trainform.spec.model import Model
from trainform.spec.names import QueueName
from trainform.spec.quantities import Quantity

# Keys are accelerator kinds of the environment or names of Kubernetes resources; the plan tells them apart.
ResourceAmounts = dict[Annotated[str, Field(min_length=1)], Quantity]


class QueueRequest(Model):
    """The fields of a Volcano Queue. All of them update in place."""

    weight: int = Field(
        default=1, ge=1, le=65535, description="Share of the cluster against other queues. Default 1, as in Volcano. Updates in place."
    )  # fmt: skip
    capability: ResourceAmounts = Field(
        default={}, description="Most that its jobs may use, by accelerator kind or resource ({a800: 64}). Empty: no limit. Updates in place."
    )  # fmt: skip
    deserved: ResourceAmounts = Field(
        default={}, description="What it gets when others want their share back. Empty: by weight. Updates in place."
    )
    guarantee: ResourceAmounts = Field(
        default={},
        description="What is kept free for it; needs `deserved` at least as large. Empty: nothing. Updates in place.",
    )
    reclaimable: bool = Field(
        default=True,
        description="Whether other queues may take back what it uses above its share. Default true. Updates in place.",
    )
    parent: QueueName = Field(
        default=defaults.ROOT_QUEUE,
        description="Queue above it. Default root, which Volcano makes itself. Updates in place.",
    )
    priority: int = Field(
        default=0, ge=0, le=2**31 - 1, description="Order among queues, higher first. Default 0. Updates in place."
    )


class EnvironmentQueue(QueueRequest):
    """A queue that experiments of the environment may name."""

    create: bool = Field(
        default=True,
        description="Whether the environment's own stack makes it. Default true. false: it is there already and stays as it is; the other fields then say "
        "what experiments are held against. A change makes a new object, or removes it.",
    )


class OwnQueue(QueueRequest):
    """A queue that belongs to the experiment's stack and goes with it."""

    name: QueueName | None = Field(
        default=None, description="Empty: the experiment's name. Queues have no namespace. A change makes a new queue and a new revision."
    )  # fmt: skip
