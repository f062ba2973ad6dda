"""The file of the platform team: one cluster, what it offers, what it allows, and what its accelerators cost."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Struct
from pydantic import AfterValidator, Field, StringConstraints

from trainform import defaults
from trainform.spec.base_model import Model, NonEmpty, OnChange, Text, added_later
from trainform.spec.limits import Limits
from trainform.spec.names import (
    CAPABILITY,
    CURRENCY,
    PORT_RANGE,
    BackendName,
    ExtendedResource,
    Label,
    LabelKey,
    LabelValue,
    Mirror,
    QueueName,
    Subdomain,
    Uid,
)
from trainform.spec.quantities import Bytes, Duration, Quantity
from trainform.spec.queue_fields import EnvironmentQueue
from trainform.spec.refusal import refusal
from trainform.spec.roles import Toleration
from trainform.spec.storage import ClaimRequest

GateName = Literal["from", "succeeded", "digest", "soak", "clean"]
"""Gates of a promotion, named like the fields that require them."""


class Promotion(Model, on_change=OnChange.NO_OBJECT):
    """Gates that a release passes before a stack of this environment can name it."""

    required: bool | None = Field(
        default=None, description="Whether each stack must follow a promoted release. Empty: yes if there is a gate."
    )
    sources: list[Label] = Field(
        default=[],
        alias="from",
        examples=[["dev"]],
        description="Environments from which releases may come. Empty: any.",
    )
    succeeded: bool = Field(
        default=False, description="Whether the job must have succeeded where the release comes from."
    )
    digest: bool = Field(default=False, description="Whether the experiment must name its images by digest.")
    soak: Duration | None = Field(default=None, description="Time since the job succeeded there. Empty: none.")
    clean: bool = Field(default=False, description="Whether the last `pulumi up` must have run from a clean commit.")
    waivable: dict[GateName, list[NonEmpty]] = Field(
        default={},
        examples=[{"soak": ["team-lead@example.com"]}],
        description="Who may waive a gate by `trainform promote --waive`: names or e-mail addresses of `git "
        "config`. Empty: none.",
    )


def _range_of_ports(text: str) -> str:
    first, _, last = text.partition("-")
    if not 1 <= int(first) <= int(last) <= 65535:
        raise refusal("the value is not a range of ports", "write first-last with 1 <= first <= last <= 65535")
    return text


PortRange = Annotated[str, StringConstraints(pattern=PORT_RANGE), AfterValidator(_range_of_ports)]


class Cluster(Model, on_change=OnChange.OTHER_CLUSTER):
    """The cluster, by a context of the kubeconfig."""

    context: NonEmpty | None = Field(default=None, description="Context of the kubeconfig. Empty: the current one.")
    uid: Uid | None = Field(
        default=None,
        description="UID of the namespace `kube-system`; trainform refuses other clusters. Setting the first one "
        "changes no object. Empty: any cluster.",
    )


class Namespace(Model, on_change=OnChange.NAMESPACE_REPLACED):
    """A namespace, and whether the stack of the environment creates it."""

    name: Label = Field(description="Name of the namespace.")
    create: bool = Field(
        default=False,
        json_schema_extra=OnChange.MADE_OR_REMOVED,
        description="Whether the environment's stack creates it; `pulumi destroy` keeps it.",
    )


class Price(Model, on_change=OnChange.NO_OBJECT):
    """The price of one accelerator for one hour, or of one GiB of storage for one month."""

    amount: float = Field(ge=0, description="Price of an accelerator-hour, or of a GiB-month (730 hours).")
    currency: Annotated[str, StringConstraints(pattern=CURRENCY)] = Field(description="ISO 4217 code (USD).")
    as_of: datetime.date = Field(description="Day of the price (2026-01-01), shown with every estimate.")


class Accelerator(Model, on_change=OnChange.NO_OBJECT):
    """One kind of accelerator and the nodes that carry it."""

    resource: ExtendedResource = Field(
        json_schema_extra=OnChange.NEW_REVISIONS,
        description="Name of the resource in Kubernetes (nvidia.com/gpu, baidu.com/a800_80g_cgpu).",
    )
    per_node: int | None = Field(
        default=None,
        ge=1,
        le=defaults.MOST_OF_A_NODE,
        description="Accelerators of one node. Empty: unknown, not checked.",
    )
    nodes: int | None = Field(default=None, ge=0, le=1_000_000, description="Number of such nodes. Empty: unknown.")
    cpu: Quantity = Field(default=defaults.NODE_CPU, description="CPU cores of one node.")
    memory: Bytes = Field(default=defaults.NODE_MEMORY, description="Memory of one node.")
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={},
        json_schema_extra=OnChange.NEW_REVISIONS,
        description="Labels of its nodes, for every pod with this kind.",
    )
    tolerations: list[Toleration] = Field(
        default=[],
        json_schema_extra=OnChange.NEW_REVISIONS,
        description="Taints of its nodes, for every pod with this kind.",
    )
    price_per_hour: Price | None = Field(
        default=None, description="Price for estimates of the cost. Empty: no cost is shown."
    )


class CostLevels(Model, on_change=OnChange.NO_OBJECT):
    """Rises of the cost per hour at which the review's finding TR-COST-1 gets a level, in the prices' currency."""

    medium: float = Field(default=20, ge=0, description="From this amount per hour: medium.")
    high: float = Field(default=100, ge=0, description="From this amount per hour: high.")


class Rdma(Model, on_change=OnChange.NEW_REVISIONS):
    """Resource and capabilities that a pod needs to use the fabric."""

    resource: ExtendedResource = Field(description="Name of the resource in Kubernetes (rdma/hca).")
    count: int = Field(default=1, ge=1, le=defaults.MOST_OF_A_NODE, description="Number for each ranked pod.")
    per_node: int = Field(
        default=1,
        ge=1,
        le=defaults.MOST_OF_A_NODE,
        json_schema_extra=OnChange.NO_OBJECT,
        description="Number on each node.",
    )
    capabilities: list[Annotated[str, StringConstraints(pattern=CAPABILITY)]] = Field(
        default=["IPC_LOCK"], description="Linux capabilities for pinned memory."
    )


class PriorityClass(Model, on_change=OnChange.REPLACED):
    """A Kubernetes PriorityClass that the environment's stack creates."""

    value: int = Field(ge=-(2**31), le=1_000_000_000, description="Higher is more important.")
    preempt: bool = Field(default=True, description="Whether its pods may preempt those of lower ones.")
    description: Text | None = Field(
        default=None, json_schema_extra=OnChange.IN_PLACE, description="When to use it. Empty: none."
    )


class Environment(Model, on_change=OnChange.NEW_REVISIONS):
    """One cluster as experiments see it."""

    name: Label = Field(
        json_schema_extra=OnChange.NEW_OBJECTS, description="Name of the environment, second part of stack names."
    )
    backend: BackendName = Field(default=defaults.BACKEND, description="Operator of experiments that name none.")
    admission: Literal["none", "volcano", "kueue"] = Field(
        default="volcano",
        description="What holds a job back until all of it fits: Volcano, Kueue with LocalQueues, or nothing "
        "(docs/reference/backends.md).",
    )
    mpi_job: Literal["v1", "v2beta1"] = Field(
        default="v2beta1",
        description="Version of MPI jobs where an operator has two; a cluster serves one of them "
        "(docs/reference/backends.md).",
    )
    workload_priorities: bool = added_later(
        False,
        description="With Kueue: whether `priority_class` of experiments names a WorkloadPriorityClass of the cluster, "
        "and not a PriorityClass of the pods.",
    )
    cluster: Cluster = Field(
        default=Cluster.model_construct(),
        examples=[{"context": "dev-cluster"}],
        json_schema_extra=OnChange.BY_PART,
        description="Which cluster. Empty: that of the current context.",
    )
    namespace: Namespace = Field(
        examples=[{"name": "team-vision", "create": True}],
        json_schema_extra=OnChange.BY_PART,
        description="The namespace of the jobs.",
    )
    queues: dict[QueueName, EnvironmentQueue] = Field(
        default={}, json_schema_extra=OnChange.BY_PART, description="Queues that experiments may name, by name."
    )
    priority_classes: dict[Subdomain, PriorityClass] = Field(
        default={},
        json_schema_extra=OnChange.BY_PART,
        description="PriorityClasses of the environment's stack, by name.",
    )
    claims: dict[Subdomain, ClaimRequest] = Field(
        default={},
        json_schema_extra=OnChange.BY_PART,
        description="Claims of the environment's stack that experiments share, by name.",
    )
    accelerators: dict[Label, Accelerator] = Field(
        default={},
        examples=[{"a800": {"resource": "nvidia.com/gpu", "per_node": 8, "nodes": 4}}],
        json_schema_extra=OnChange.BY_PART,
        description="Kinds of accelerators by a short name.",
    )
    rdma: Rdma | None = Field(default=None, description="RDMA fabric. Empty: none.")
    storage_classes: dict[Label, Subdomain] = Field(
        default={},
        json_schema_extra=OnChange.CLAIMS_REPLACED,
        description="Names of storage classes in the cluster, by a short name.",
    )
    storage_prices: dict[Label, Price] = Field(
        default={},
        json_schema_extra=OnChange.NO_OBJECT,
        description="Prices per GiB-month, by the short names of `storage_classes`. Empty: no price.",
    )
    cost_levels: CostLevels = Field(
        default=CostLevels.model_construct(),
        examples=[{"medium": 20, "high": 100}],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Rises of the cost that a review marks. From 1 on, 20 % is medium and 50 % high at any "
        "amount. Empty: 20 and 100.",
    )
    ports: PortRange = Field(
        default=defaults.HOST_PORTS,
        json_schema_extra=OnChange.MOVED_PORTS,
        description="Host ports for experiments, first-last.",
    )
    registries: dict[Mirror, Mirror] = Field(
        default={},
        examples=[{"registry.example.com": "mirror.prod.example.com", "docker.io": "mirror.prod.example.com/hub"}],
        description="Mirrors by the registry, or path in it, that experiments name; the longest match counts. "
        "Empty: none.",
    )
    image_pull_secrets: list[Subdomain] = Field(default=[], description="Secrets of every pod for the registry.")
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels of the nodes of every experiment."
    )
    tolerations: list[Toleration] = Field(default=[], description="Taints that every experiment tolerates.")
    limits: Limits = Field(
        default=Limits.model_construct(),
        json_schema_extra=OnChange.NO_OBJECT,
        description="What experiments may request. Empty: see each limit.",
    )
    promotion: Promotion = Field(
        default=Promotion.model_construct(),
        examples=[{"from": ["dev"], "succeeded": True, "soak": "24h"}],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Gates before a release is promoted to here. Empty: none.",
    )

    @property
    def port_range(self) -> tuple[int, int]:
        """Return the first and the last host port."""
        first, last = self.ports.split("-")
        return int(first), int(last)


class HourlyCost(Struct, frozen=True):
    """An amount of money for an hour. as_of: the day of the oldest price in it."""

    amount: Decimal
    currency: str
    as_of: datetime.date

    @property
    def text(self) -> str:
        """Return the amount as it is printed: 16.80 USD."""
        return f"{self.amount:.2f} {self.currency}"

    @property
    def dated(self) -> str:
        """Return the amount with the day of its prices."""
        return f"{self.text} (prices of {self.as_of})"


def hourly_cost(accelerators: Mapping[str, int], environment: Environment) -> HourlyCost | None:
    """Return the hourly cost of these numbers of accelerators by kind. None if it is unknown: no accelerator is in use,
    a kind is not in the environment or has no price, or the prices are in several currencies."""
    used = {kind: count for kind, count in accelerators.items() if count}
    prices = [(each.price_per_hour, used[kind]) for kind, each in environment.accelerators.items() if kind in used]
    known = [(price, count) for price, count in prices if price is not None]
    if not known or len(known) < len(used) or len({price.currency for price, _ in known}) > 1:
        return None
    hourly = sum((Decimal(str(price.amount)) * count for price, count in known), Decimal(0))
    return HourlyCost(hourly, known[0][0].currency, min(price.as_of for price, _ in known))
