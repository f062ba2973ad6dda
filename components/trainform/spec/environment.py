"""What the platform team writes: what one cluster offers, and what it allows."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trainform.catalog import defaults
from trainform.spec.model import Model, NonEmpty, Text
from trainform.spec.names import (
    CAPABILITY,
    CURRENCY,
    PORT_RANGE,
    REGISTRY,
    BackendName,
    ExtendedResource,
    Label,
    LabelKey,
    LabelValue,
    QueueName,
    Subdomain,
)
from trainform.spec.quantities import Bytes, Quantity
from trainform.spec.queues import EnvironmentQueue
from trainform.spec.roles import Toleration
from trainform.spec.storage import ClaimRequest


def _range_of_ports(text: str) -> str:
    first, _, last = text.partition("-")
    if not 1 <= int(first) <= int(last) <= 65535:
        raise ValueError("is no range of ports|write first-last with 1 <= first <= last <= 65535")
    return text


PortRange = Annotated[str, Field(pattern=PORT_RANGE), AfterValidator(_range_of_ports)]


class Cluster(Model):
    """Which cluster, by kubeconfig."""

    context: NonEmpty | None = Field(
        default=None,
        description="Context of the kubeconfig. Empty: the current one. A change replaces every object.",
    )


class Namespace(Model):
    """Where the jobs live."""

    name: Label = Field(description="Name of the namespace. A change replaces every object.")
    create: bool = Field(
        default=False,
        description="Whether the environment's own stack makes it. Default false: it exists already. A change makes a new object, or removes it.",
    )


class Price(Model):
    """Price of one accelerator for one hour."""

    amount: float = Field(ge=0, description="Price of one accelerator-hour in `currency`. Changes no object.")
    currency: Annotated[str, Field(pattern=CURRENCY)] = Field(description="ISO 4217 code (USD). Changes no object.")
    as_of: datetime.date = Field(
        description="Day on which the price held (2026-01-01); shown beside every estimate. Changes no object."
    )


class Accelerator(Model):
    """One kind of accelerator and the nodes that carry it."""

    resource: ExtendedResource = Field(
        description="Name of the resource in Kubernetes (nvidia.com/gpu, baidu.com/a800_80g_cgpu). A change makes new revisions."
    )
    per_node: int = Field(
        ge=1, le=10_000, description="Accelerators of one node; the most that a pod can get. Changes no object."
    )
    nodes: int = Field(ge=0, le=1_000_000, description="How many such nodes there are. Changes no object.")
    cpu: Quantity = Field(
        default=defaults.NODE_CPU, description="CPU cores of one node. Default 128. Changes no object."
    )
    memory: Bytes = Field(
        default=defaults.NODE_MEMORY, description="Memory of one node, in bytes. Default 1Ti. Changes no object."
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels of its nodes, given to every pod that asks for the kind. Default none. A change makes new revisions."
    )  # fmt: skip
    tolerations: list[Toleration] = Field(
        default=[], description="Taints of its nodes, tolerated by every pod that asks for the kind. Default none. A change makes new revisions."
    )  # fmt: skip
    price_per_hour: Price | None = Field(
        default=None, description="For the plan's cost. Empty: no cost is shown. Changes no object."
    )


class Rdma(Model):
    """What a pod needs to use the fabric."""

    resource: ExtendedResource = Field(
        description="Name of the resource in Kubernetes (rdma/hca). A change makes new revisions."
    )
    count: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="How much of it each ranked pod gets. Default 1. A change makes new revisions.",
    )
    per_node: int = Field(
        default=1, ge=1, le=10_000, description="How much of it a node offers. Default 1. Changes no object."
    )
    capabilities: list[Annotated[str, Field(pattern=CAPABILITY)]] = Field(
        default=["IPC_LOCK"],
        description="Linux capabilities for pinned memory. Default IPC_LOCK. A change makes new revisions.",
    )


class PriorityClass(Model):
    """A Kubernetes PriorityClass made by the environment's stack."""

    value: int = Field(ge=-(2**31), le=1_000_000_000, description="Higher is more important. A change replaces it.")
    preempt: bool = Field(
        default=True, description="Whether pods of this class may push out lower ones. Default true, as in Kubernetes. A change replaces it."
    )  # fmt: skip
    description: Text | None = Field(default=None, description="When to use it. Empty: none. Updates in place.")


class Limits(Model):
    """What experiments may ask for here. Changes no object."""

    max_accelerators: int | None = Field(
        default=None,
        ge=0,
        description="Most accelerators of one experiment. Empty: what the nodes hold. Changes no object.",
    )
    host_network: bool = Field(
        default=False, description="Whether pods may use the node's network. Default false. Changes no object."
    )
    privileged: bool = Field(
        default=False,
        description="Whether containers may run privileged or mount host paths. Default false. Changes no object.",
    )
    registries: list[Annotated[str, Field(pattern=REGISTRY)]] = Field(
        default=[],
        description="Registries (and paths in them) that images may come from. Empty: any. Changes no object.",
    )
    require_digest: bool = Field(
        default=False, description="Whether images must be pinned by digest. Default false. Changes no object."
    )


class Environment(Model):
    """One cluster as experiments see it."""

    name: Label = Field(description="Name of the environment, second part of stack names. A change makes new objects.")
    backend: BackendName = Field(
        default=defaults.BACKEND,
        description="Operator of experiments that name none. Default volcano. A change makes new jobs.",
    )
    admission: Literal["volcano", "kueue"] = Field(
        default="volcano",
        description="What holds a job back until all of it fits: Volcano with its queues and gangs, or Kueue with LocalQueues of the namespace "
        "(backends jobset and trainer). Default volcano. A change makes new jobs.",
    )
    cluster: Cluster = Field(
        default=Cluster(),
        examples=[{"context": "dev-cluster"}],
        description="Which cluster. Default: the current context.",
    )
    namespace: Namespace = Field(
        examples=[{"name": "team-vision", "create": True}], description="The namespace of the jobs."
    )
    queues: dict[QueueName, EnvironmentQueue] = Field(
        default={},
        description="Queues that experiments may name, by name; the environment's stack makes them. Default none: only Volcano's own `default`.",
    )
    priority_classes: dict[Subdomain, PriorityClass] = Field(
        default={}, description="PriorityClasses that the environment's stack owns, by name. Default none."
    )
    claims: dict[Subdomain, ClaimRequest] = Field(
        default={}, description="Claims shared by experiments, owned by the environment's stack, by name. Default none."
    )
    accelerators: dict[Label, Accelerator] = Field(
        default={},
        examples=[{"a800": {"resource": "nvidia.com/gpu", "per_node": 8, "nodes": 4}}],
        description="Kinds of accelerators by a short name. Default none.",
    )
    rdma: Rdma | None = Field(
        default=None, description="The fabric. Empty: there is none, and experiments may not ask for it."
    )
    storage_classes: dict[Label, Subdomain] = Field(
        default={},
        description="Short name of a class to its name in the cluster. Default none. A change replaces claims.",
    )
    ports: PortRange = Field(
        default=defaults.HOST_PORTS, description="Host ports for experiments, first-last. Default 20000-30000. A change may make new revisions."
    )  # fmt: skip
    image_pull_secrets: list[Subdomain] = Field(
        default=[], description="Secrets of the namespace that every pod gets for the registry. Default none. A change makes new revisions."
    )  # fmt: skip
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={},
        description="Labels that nodes of every experiment must have. Default none. A change makes new revisions.",
    )
    tolerations: list[Toleration] = Field(
        default=[], description="Taints that every experiment tolerates. Default none. A change makes new revisions."
    )
    limits: Limits = Field(default=Limits(), description="What experiments may ask for. Default: see each limit.")

    @property
    def port_range(self) -> tuple[int, int]:
        """First and last host port."""
        first, last = self.ports.split("-")
        return int(first), int(last)
