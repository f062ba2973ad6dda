"""SSH between the pods of a job, and the user that they run as."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from trainform.catalog import defaults
from trainform.spec.model import Model
from trainform.spec.names import AbsolutePath, Label, Subdomain


class Ssh(Model):
    """Password-less SSH: one identity for all pods of the job, derived from the stack's secret, with pinned host keys."""

    secret: Subdomain | None = Field(
        default=None,
        description="Name of a Secret that exists in the namespace and holds the files of ~/.ssh. Empty: one is made, its keys derived from "
        "the stack's secret `trainform:sshSecret`. A change makes a new revision.",
    )
    rotation: int = Field(
        default=1,
        ge=1,
        le=2**31 - 2,
        description="Number of the derived keys; count up to have new ones. The keys before and after it are accepted too, so that running "
        "pods keep meeting. Default 1. Updates in place: only the Secret changes.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Port of the pods' sshd. Empty: 22, or 2022 for a user other than root; on the host network one of the environment's "
        "range. A change makes a new revision.",
    )
    roles: list[Label] | None = Field(
        default=None,
        min_length=1,
        description="Roles that get the identity; ranked ones of them run an sshd. Empty: all ranked roles, and the one that launches. "
        "A change makes a new revision.",
    )

    @model_validator(mode="after")
    def _rotation_of_ours(self) -> Self:
        if self.secret is not None and "rotation" in self.model_fields_set:
            raise ValueError("counts rotations of a Secret that is not made here|remove `rotation`, or `secret`")
        return self


class RunAs(Model):
    """The user of all containers. Left out: the user of the image."""

    user: int = Field(ge=0, le=2**31 - 1, description="Numeric user id; 0 is root. A change makes a new revision.")
    group: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Numeric group id, also of mounted files (fsGroup). Empty: the user's number. A change makes a new revision.",
    )
    home: AbsolutePath = Field(
        default=defaults.HOME,
        description="Home folder of that user in the image's passwd; SSH looks for its files there. Default /root. A change makes a new revision.",
    )
