"""The network between the pods of a job."""

from typing import Literal

from pydantic import Field

from trainform import defaults
from trainform.spec.base_model import Model, OneOf
from trainform.spec.metadata import OnChange
from trainform.spec.names import Subdomain
from trainform.spec.quantities import Duration


class Topology(OneOf, on_change=OnChange.NEW_REVISION):
    """The distance within which the scheduler must place the gang, by HyperNodes."""

    one_of = ("highest_tier", "highest_tier_name")

    mode: Literal["hard", "soft"] = Field(
        default="hard", description="hard: wait until the gang fits below the tier; soft: prefer it."
    )
    highest_tier: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Highest tier of HyperNode that the gang may span, instead of its name. Empty: none.",
    )
    highest_tier_name: Subdomain | None = Field(default=None, description="Name of that tier. Empty: by number.")


class Network(Model, on_change=OnChange.NEW_REVISION):
    """Network of all pods of the job."""

    host: bool = Field(
        default=False,
        description="Whether pods use the node's network; needs `limits.host_network`.",
    )
    rdma: bool = Field(
        default=False,
        description="Whether ranked pods get the environment's RDMA resource and capabilities.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Rendezvous port (MASTER_PORT). Empty: 29500, or one of `ports` on the host network.",
    )
    addresses: Literal["pod", "service"] = Field(
        default="pod",
        description="Names of peers. pod: `<pod>.<service>`; service: a Service for each ranked replica, for "
        "small static jobs.",
    )
    ports: Literal["shared", "per-replica"] = Field(
        default="shared",
        description="Host ports. shared: one replica on each node; per-replica: replicas may share a node (static"
        " jobs).",
    )
    wait: Duration = Field(
        default=defaults.WAIT,
        description="Time that a pod waits for its peers before it fails.",
    )
    topology: Topology | None = Field(default=None, description="Network topology of the gang. Empty: anywhere.")
