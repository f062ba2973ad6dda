"""Volumes of an experiment and claims of an environment."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from trainform.spec.model import Model, only_one
from trainform.spec.names import AbsolutePath, Label, RelativePath, Subdomain
from trainform.spec.quantities import Size

AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]


def _compatible(modes: list[AccessMode]) -> list[AccessMode]:
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        raise ValueError("has ReadWriteOncePod beside other modes, which Kubernetes refuses|keep one of the two")
    return modes


AccessModes = Annotated[list[AccessMode], Field(min_length=1), AfterValidator(_compatible)]


class ClaimRequest(Model):
    """A claim that trainform makes: its size, class and what happens to it at destroy."""

    size: Size = Field(
        description="Size asked for, in bytes (2Ti). Growing it updates the claim in place; shrinking is refused by Kubernetes."
    )
    storage_class: Label | None = Field(
        default=None,
        alias="class",
        description="Name of a class in the environment's `storage_classes`. Empty: the cluster's default class. A change replaces the claim.",
    )
    access_modes: AccessModes = Field(
        default=["ReadWriteMany"],
        description="How nodes may mount it. Default ReadWriteMany, since pods of a gang land on many nodes. A change replaces the claim.",
    )
    keep: bool = Field(
        default=False,
        description="Whether `pulumi destroy` leaves the claim and its data; the next `up` adopts it again. Default false: destroyed with the rest.",
    )


class Volume(Model):
    """One mount: either a claim that exists already (`claim`), or one that trainform makes (`size`)."""

    model_config = ConfigDict(json_schema_extra=only_one(("claim", "size")))

    claim: Subdomain | None = Field(
        default=None,
        description="Name of a claim that exists in the namespace. Empty: one is made, of this `size`. A change makes a new revision of the job.",
    )
    size: Size | None = Field(
        default=None,
        description=f"{ClaimRequest.model_fields['size'].description} Empty: `claim` names one that exists.",
    )
    storage_class: Label | None = Field(
        default=None, alias="class", description=ClaimRequest.model_fields["storage_class"].description
    )
    access_modes: AccessModes = Field(
        default=["ReadWriteMany"], description=ClaimRequest.model_fields["access_modes"].description
    )
    keep: bool = Field(default=False, description=ClaimRequest.model_fields["keep"].description)
    mount: AbsolutePath = Field(
        description="Where the containers see it, an absolute path. A change makes a new revision of the job."
    )
    sub_path: RelativePath | None = Field(
        default=None,
        description="Folder inside the volume to mount, relative. Empty: the whole volume. A change makes a new revision of the job.",
    )
    read_only: bool = Field(
        default=False,
        description="Mount without write access. Default false. A change makes a new revision of the job.",
    )
    roles: list[Label] | None = Field(
        default=None,
        description="Roles that mount it. Empty: every role. A change makes a new revision of the job.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = self.model_fields_set
        if (self.claim is None) == (self.size is None):
            raise ValueError(
                "names both a claim and a size|keep `claim` for one that exists, `size` for one to be made"
                if self.claim is not None
                else "names neither a claim nor a size|add `claim: NAME` for one that exists or `size: 100Gi` for one to be made"
            )
        extra = sorted({"storage_class", "access_modes", "keep"} & given)
        if self.claim is not None and extra:
            named = ", ".join("class" if name == "storage_class" else name for name in extra)
            raise ValueError(
                f"says {named} of a claim that exists already|remove {named}: these belong to claims made here"
            )
        return self

    @property
    def request(self) -> ClaimRequest | None:
        """The claim to be made, or None where an existing one is named."""
        if self.size is None:
            return None
        return ClaimRequest(
            size=self.size, storage_class=self.storage_class, access_modes=self.access_modes, keep=self.keep
        )
