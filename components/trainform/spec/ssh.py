"""SSH between the pods of a job, and the user that they run as."""

from typing import Self

from pydantic import Field, model_validator

from trainform import defaults
from trainform.spec.base_model import Model
from trainform.spec.metadata import OnChange
from trainform.spec.names import AbsolutePath, Label, Subdomain
from trainform.spec.refusal import refusal


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
        default=defaults.HOME,
        description="Home folder of that user, where SSH looks for its files.",
    )
