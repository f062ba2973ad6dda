"""The report of drift and its JSON Schema. All forms of the report are made from it."""

import enum
from typing import Literal

from pydantic import Field, JsonValue

from trainform.console.report_part import Part

VERSION = 1
SCHEMA_FILE = "drift.schema.json"


class Outcome(enum.StrEnum):
    """The outcome of a comparison. `incomplete`: no drift, but something could not be compared. `failed`: nothing could
    be compared."""

    in_sync = "in sync"
    not_deployed = "not deployed"
    drift = "drift"
    incomplete = "incomplete"
    failed = "failed"


class FieldDrift(Part):
    """A field of a live object. null: not set. `[secret]` stands for a secret, `(not read)` for a value that was not
    read."""

    path: str = Field(description="Path of the field: spec.publishNotReadyAddresses. Items of a list are named.")
    was: JsonValue = Field(default=None, description="What was deployed; null for a field of others.")
    now: JsonValue = Field(default=None, description="What the cluster has.")
    manager: str = Field(
        default="",
        description="Manager of the field, in the cluster's words (kubectl-edit); empty: it has none any more.",
    )
    written: str = Field(
        default="",
        description="Time of the last write of this manager to the object (RFC 3339), not of this field; empty: "
        "unknown.",
    )


class ObjectDrift(Part):
    """One object that is not as it was deployed, or that has fields of others."""

    kind: str
    name: str
    namespace: str = Field(description="Empty for a kind of the whole cluster.")
    state: Literal["as deployed", "changed", "gone", "made anew"]
    fields: list[FieldDrift] = Field(default=[], description="What was deployed and is otherwise now.")
    others: list[FieldDrift] = Field(
        default=[],
        description="Fields that only others have written. `pulumi up` leaves them, but where it changes the object it "
        "removes what `kubectl` has written.",
    )
    manager: str = Field(default="", description="Creator of an object that was made anew; empty: unknown.")
    created: str = Field(default="", description="When it was made anew (RFC 3339).")
    deleting: str = Field(default="", description="Since when it is being deleted (RFC 3339).")
    is_job: bool = False


class NotCompared(Part):
    """An object that could not be compared, or only in part, and why."""

    what: str
    reason: str


class StackDrift(Part):
    """One stack."""

    stack: str
    experiment: str = Field(default="", description="Empty for an environment's own stack.")
    environment: str
    namespace: str = ""
    revision: str = Field(default="", description="Of the job that is deployed.")
    outcome: Outcome
    compared: int = Field(default=0, description="How many objects were compared.")
    objects: list[ObjectDrift] = Field(
        default=[], description="Those that are not as they were deployed, or have fields of others."
    )
    not_compared: list[NotCompared] = Field(
        default=[], description="Each of these makes a stack without drift `incomplete`."
    )
    notes: list[str] = Field(default=[], description="What the comparison can tell, as whole sentences.")
    commands: list[str] = Field(default=[], description="What puts back what was deployed.")


class DriftReport(Part):
    """The differences between the live objects of some stacks and what was deployed."""

    version: int = VERSION
    generated_by: str = Field(description="Version of trainform.")
    read_at: str = Field(description="When the cluster was read (RFC 3339).")
    outcome: Outcome = Field(description="The worst of the stacks: failed, incomplete, drift, in sync.")
    stacks: list[StackDrift]
