"""How the pods reach each other."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from trainform.catalog import defaults
from trainform.spec.model import Model, only_one
from trainform.spec.names import Subdomain
from trainform.spec.quantities import Duration


class Topology(Model):
    """How close together the scheduler must place the gang (Volcano's HyperNodes)."""

    model_config = ConfigDict(json_schema_extra=only_one(("highest_tier", "highest_tier_name")))

    mode: Literal["hard", "soft"] = Field(
        default="hard",
        description="hard: wait until the gang fits below the tier; soft: prefer it. Default hard, as in Volcano. A change makes a new revision.",
    )
    highest_tier: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Highest tier of HyperNode that the gang may span, by number. Empty: by name. A change makes a new revision.",
    )
    highest_tier_name: Subdomain | None = Field(
        default=None,
        description="The same by the tier's name (Volcano >= 1.14). Empty: by number. A change makes a new revision.",
    )

    @model_validator(mode="after")
    def _one_tier(self) -> Self:
        if (self.highest_tier is None) == (self.highest_tier_name is None):
            both = self.highest_tier is not None
            raise ValueError(
                f"names {'both' if both else 'neither'} highest_tier and highest_tier_name|write exactly one of the two"
            )
        return self


class Network(Model):
    """Network of all pods of the job."""

    host: bool = Field(
        default=False,
        description="Pods use the node's network (hostNetwork, DNS policy ClusterFirstWithHostNet). Default false: the pod network. "
        "Needs `limits.host_network` of the environment. A change makes a new revision.",
    )
    rdma: bool = Field(
        default=False,
        description="Pods of ranked roles get the environment's RDMA resource and its capabilities (IPC_LOCK). Default false. "
        "A change makes a new revision.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Rendezvous port (MASTER_PORT). Empty: 29500 on the pod network; on the host network one of the environment's range, "
        "chosen from the experiment's identity and the same at every preview. A change makes a new revision.",
    )
    addresses: Literal["pod", "service"] = Field(
        default="pod",
        description="How peers name each other. pod: `<pod>.<service>`, by one headless Service; service: every ranked replica gets a Service "
        "of its own with constant ports, for small static jobs. Default pod. A change makes a new revision.",
    )
    ports: Literal["shared", "per-replica"] = Field(
        default="shared",
        description="On the host network. shared: all replicas of a role listen on the same port, each on a node of its own; per-replica: "
        "each ranked replica has ports of its own, so that several share a node (static jobs). What ends the job is the same. Default shared. "
        "A change makes a new revision.",
    )
    wait: Duration = Field(
        default=defaults.WAIT,
        description="How long a pod waits for its peers' names, and a launcher for their sshd, before it fails and says who is missing. "
        "Default 10m: nodes may have to pull the image first. A change makes a new revision.",
    )
    topology: Topology | None = Field(
        default=None, description="Network topology of the gang. Empty: anywhere. A change makes a new revision."
    )
