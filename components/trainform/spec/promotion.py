"""What the environment asks of a release before it is promoted to here. `trainform.releases.gates` judges it."""

from typing import Literal

from pydantic import Field

from trainform.spec.metadata import OnChange
from trainform.spec.model import Model, NonEmpty
from trainform.spec.names import Label
from trainform.spec.quantities import Duration

GateName = Literal["from", "succeeded", "digest", "soak", "clean"]
"""A gate has the name of the field that asks for it."""


class Promotion(Model):
    """Gates that a release passes before a stack of this environment can name it."""

    sources: list[Label] = Field(
        default=[],
        alias="from",
        examples=[["dev"]],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Environments from which releases may come. Empty: any.",
    )
    succeeded: bool = Field(
        default=False,
        json_schema_extra=OnChange.NO_OBJECT,
        description="Whether the job must have succeeded where the release comes from.",
    )
    digest: bool = Field(
        default=False,
        json_schema_extra=OnChange.NO_OBJECT,
        description="Whether the experiment must name every image by its digest. A tag is pinned to the image that the pods ran, which no reviewer has seen "
        "in a file.",
    )
    soak: Duration | None = Field(
        default=None,
        json_schema_extra=OnChange.NO_OBJECT,
        description="How long ago the job must have succeeded where the release comes from (24h). Empty: no time.",
    )
    clean: bool = Field(
        default=False,
        json_schema_extra=OnChange.NO_OBJECT,
        description="Whether the last `pulumi up` of the release must have run from a commit of git, without changes that are not committed.",
    )
    waivable: dict[GateName, list[NonEmpty]] = Field(
        default={},
        examples=[{"soak": ["team-lead@example.com"]}],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Gates that may be waived by `trainform promote --waive`, each with those who may do it: a name or an e-mail address, as `git config` "
        "has it. Empty: none.",
    )
