"""The network between the pods of a job: host network and RDMA, ports and waits, SSH and its user."""

from typing import Literal, Self

from pydantic import Field, model_validator

from trainform import defaults
from trainform.spec.base_model import Model, OnChange, OneOf
from trainform.spec.names import AbsolutePath, Label, Subdomain
from trainform.spec.quantities import Duration
from trainform.spec.refusal import refusal


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

    host: bool = Field(default=False, description="Whether pods use the node's network; needs `limits.host_network`.")
    rdma: bool = Field(
        default=False, description="Whether ranked pods get the environment's RDMA resource and capabilities."
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
    wait: Duration = Field(default=defaults.WAIT, description="Time that a pod waits for its peers before it fails.")
    topology: Topology | None = Field(default=None, description="Network topology of the gang. Empty: anywhere.")


class Ssh(Model, on_change=OnChange.NEW_REVISION):
    """Password-less SSH: one identity for all pods of the job, derived from the stack's secret, with pinned host
    keys."""

    secret: Subdomain | None = Field(
        default=None,
        description="Existing Secret with the files of ~/.ssh. Empty: keys derived from the stack's secret "
        "`trainform:sshSecret`.",
    )
    rotation: int = Field(
        default=1,
        ge=1,
        le=2**31 - 2,
        json_schema_extra=OnChange.IN_PLACE,
        description="Number of the derived keys; count up to rotate them.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Port of sshd. Empty: 22, 2022 if not root, or one of `ports` on the host network.",
    )
    roles: list[Label] | None = Field(
        default=None,
        min_length=1,
        description="Roles with the identity; ranked ones run an sshd. Empty: all ranked roles, and the one that "
        "launches.",
    )

    @model_validator(mode="after")
    def _rotation_of_ours(self) -> Self:
        if self.secret is not None and "rotation" in self.model_fields_set:
            raise refusal(
                "the field rotation counts keys of a Secret that trainform makes, and `secret` names another one",
                "remove `rotation`, or `secret`",
            )
        return self


class RunAs(Model, on_change=OnChange.NEW_REVISION):
    """The user of all containers. Left out: the user of the image."""

    user: int = Field(ge=0, le=2**31 - 1, description="Numeric user id; 0 is root.")
    group: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Numeric group id, also of mounted files. Empty: the user's number.",
    )
    home: AbsolutePath = Field(
        default=defaults.HOME, description="Home folder of that user, where SSH looks for its files."
    )
