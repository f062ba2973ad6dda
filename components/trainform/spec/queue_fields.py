"""Volcano queues: those of an environment, and those of an experiment."""

from typing import Annotated

from pydantic import Field, StringConstraints

from trainform import defaults
from trainform.spec.base_model import Model, OnChange
from trainform.spec.names import QueueName
from trainform.spec.quantities import Quantity

# Keys are accelerator kinds of the environment or names of Kubernetes resources; the plan tells them apart.
ResourceAmounts = dict[Annotated[str, StringConstraints(min_length=1)], Quantity]


class QueueRequest(Model, on_change=OnChange.IN_PLACE):
    """The fields of a Volcano Queue. All of them update in place."""

    weight: int = Field(default=1, ge=1, le=65535, description="Share of the cluster against other queues.")
    capability: ResourceAmounts = Field(
        default={},
        description="Most that its jobs may use, by accelerator kind or resource ({a800: 64}). Empty: no limit.",
    )
    deserved: ResourceAmounts = Field(
        default={}, description="What it gets when others want their share back. Empty: by weight."
    )
    guarantee: ResourceAmounts = Field(default={}, description="Reserved for it, at most `deserved`. Empty: nothing.")
    reclaimable: bool = Field(default=True, description="Whether other queues may take back what exceeds its share.")
    parent: QueueName = Field(default=defaults.ROOT_QUEUE, description="Queue above it.")
    priority: int = Field(default=0, ge=0, le=2**31 - 1, description="Order among queues, higher first.")


class EnvironmentQueue(QueueRequest, on_change=OnChange.MADE_OR_REMOVED):
    """A queue that experiments of the environment may name."""

    create: bool = Field(
        default=True,
        description="Whether the environment's stack creates it. false: it exists, as the other fields describe it.",
    )


class OwnQueue(QueueRequest, on_change=OnChange.NEW_REVISION):
    """A queue that the experiment's stack creates and deletes."""

    name: QueueName | None = Field(
        default=None, description="Name in the cluster; queues have no namespace. Empty: the experiment's name."
    )
