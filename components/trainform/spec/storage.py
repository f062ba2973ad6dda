"""Volumes of an experiment and claims of an environment."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from trainform.spec.base_model import Model, NonEmpty, OnChange, OneOf, Text, added_later, only_one
from trainform.spec.names import AbsolutePath, Label, RelativePath, Subdomain
from trainform.spec.quantities import Size
from trainform.spec.refusal import refusal

AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]
CLAIM = "claim"
ONE_NODE: AccessMode = "ReadWriteOnce"
ONE_POD: AccessMode = "ReadWriteOncePod"
NEW_CLAIM_FIELDS = frozenset({"storage_class", "access_modes", "keep"})  # fields of a volume with a new claim
AccessModes = Annotated[list[AccessMode], Field(min_length=1)]


class ClaimRequest(Model, on_change=OnChange.CLAIM_REPLACED):
    """A claim that trainform creates: its size, its class and its fate at `pulumi destroy`."""

    size: Size = Field(json_schema_extra=OnChange.GROWS, description="Requested size.")
    storage_class: Label | None = Field(
        default=None,
        alias="class",
        description="Class of the environment's `storage_classes`. Empty: the cluster's default class.",
    )
    access_modes: AccessModes = Field(
        default=["ReadWriteMany"], description="How nodes may mount it; a gang has many nodes."
    )
    keep: bool = Field(
        default=False,
        json_schema_extra=OnChange.NO_OBJECT,
        description="Whether `pulumi destroy` keeps the claim and its data, for the next `up`.",
    )


class File(OneOf, on_change=OnChange.NEW_REVISION):
    """One file of UTF-8 text: a copy of a local file, or a text. Reading replaces the name of the file by its text."""

    one_of = ("file", "text")

    file: NonEmpty | None = added_later(
        description="Local file, by its path from the project's folder on and inside it. Empty: `text`."
    )
    text: Text | None = added_later(description="Content. Empty: that of `file`.")


SOURCES = ("claim", "size", "host_path", "scratch", "config_map", "secret")


class Volume(Model, on_change=OnChange.NEW_REVISION):
    """One mount, of exactly one source: `claim`, `size`, `host_path`, `scratch`, `config_map` or `secret`."""

    model_config = ConfigDict(json_schema_extra=only_one(SOURCES))

    claim: Subdomain | None = Field(default=None, description="Existing claim of the namespace. Empty: none.")
    size: Size | None = Field(
        default=None,
        json_schema_extra=OnChange.GROWS,
        description="Requested size of a new claim. Empty: none.",
    )
    host_path: AbsolutePath | None = added_later(
        description="Path of the node, within the environment's `limits.host_paths`. Empty: none."
    )
    scratch: Size | None = added_later(
        description="Size of an empty folder on the node's disk, deleted with its pod; a pod that writes more is "
        "evicted. Empty: none."
    )
    config_map: Subdomain | None = added_later(
        description="Existing ConfigMap of the namespace, each key a file. Empty: none."
    )
    secret: Subdomain | None = added_later(
        description="Existing Secret of the namespace, each key a file. Empty: none."
    )
    storage_class: Label | None = Field(
        default=None,
        alias="class",
        json_schema_extra=OnChange.CLAIM_REPLACED,
        description=ClaimRequest.model_fields["storage_class"].description,
    )
    access_modes: AccessModes = Field(
        default=["ReadWriteMany"],
        json_schema_extra=OnChange.CLAIM_REPLACED,
        description=ClaimRequest.model_fields["access_modes"].description,
    )
    keep: bool = Field(
        default=False, json_schema_extra=OnChange.NO_OBJECT, description=ClaimRequest.model_fields["keep"].description
    )
    mount: AbsolutePath = Field(description="Where the containers see it, an absolute path.")
    sub_path: RelativePath | None = Field(
        default=None, description="Folder of the volume to mount. Empty: the whole volume."
    )
    read_only: bool = Field(default=False, description="Whether to mount it without write access.")
    roles: list[Label] | None = Field(default=None, description="Roles that mount it. Empty: every role.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if not given:
            fix = "add `claim: NAME` for one that exists or `size: 100Gi` for one to be made"
            raise refusal("the volume names neither a claim nor a size", f"{fix}; or one of {', '.join(SOURCES[2:])}")
        if len(given) > 1:
            reason = f"the volume has {len(given)} sources: {', '.join(given)}"
            raise refusal(reason, "keep one; `claim` is one that exists, `size` makes one")
        extra = sorted(NEW_CLAIM_FIELDS & self.model_fields_set)
        if self.size is None and extra:
            named = ", ".join("class" if name == "storage_class" else name for name in extra)
            of_what = "of a claim that exists already" if self.claim is not None else f"next to `{given[0]}`"
            fix = f"remove {named}, or write `size` instead of `{given[0]}` for a claim that trainform creates"
            raise refusal(f"the volume sets {named} {of_what}", fix)
        return self

    @property
    def source(self) -> tuple[str, str]:
        """Return kind and value of the source; "" for a claim that trainform creates."""
        kind = next(name for name in SOURCES if getattr(self, name) is not None)
        return (CLAIM, "") if kind == "size" else (kind, getattr(self, kind))

    @property
    def request(self) -> ClaimRequest | None:
        """Return the claim to create, or None for an existing one."""
        if self.size is None:
            return None
        return ClaimRequest(
            size=self.size, storage_class=self.storage_class, access_modes=self.access_modes, keep=self.keep
        )
