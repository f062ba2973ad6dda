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
        description="Highest tier of HyperNode that the gang may span, by number. Empty: by name.",
    )
    highest_tier_name: Subdomain | None = Field(
        default=None, description="The same by the tier's name. Empty: by number."
    )


class Network(Model, on_change=OnChange.NEW_REVISION):
    """Network of all pods of the job."""

    host: bool = Field(
        default=False,
        description="Whether pods use the node's network (hostNetwork, DNS policy ClusterFirstWithHostNet) in place "
        "of the pod network. Needs `limits.host_network` of the environment.",
    )
    rdma: bool = Field(
        default=False,
        description="Pods of ranked roles get the environment's RDMA resource and its capabilities (IPC_LOCK). A "
        "role's `resources` may set another number of the resource.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Rendezvous port (MASTER_PORT). Empty: 29500 on the pod network; on the host network one of the "
        "environment's range, chosen from the experiment's identity and the same at every preview.",
    )
    addresses: Literal["pod", "service"] = Field(
        default="pod",
        description="How peers name each other. pod: `<pod>.<service>`, by one headless Service; service: every "
        "ranked replica gets its own Service with constant ports, for small static jobs.",
    )
    ports: Literal["shared", "per-replica"] = Field(
        default="shared",
        description="On the host network. shared: all replicas of a role listen on the same port, each on its own "
        "node; per-replica: each ranked replica has its own ports, so that several share a node "
        "(static jobs). What ends the job is the same.",
    )
    wait: Duration = Field(
        default=defaults.WAIT,
        description="How long a pod waits for its peers' names, and a launcher for their sshd, before it fails and "
        "names the missing ones: nodes may have to pull the image first.",
    )
    topology: Topology | None = Field(default=None, description="Network topology of the gang. Empty: anywhere.")
