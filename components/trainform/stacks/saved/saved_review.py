"""The file of a saved review, and the answer of `trainform apply`."""

from typing import Literal

from pydantic import Field, JsonValue

from trainform.console.report_part import Part

VERSION = 3
SCHEMA_FILE = "apply.schema.json"
Hash = str
"""A keyed hash, as hexadecimal digits: without the key its input cannot be guessed."""

FactKind = Literal["backend", "cluster", "versions", "config", "variable", "state", "object", "step"]


class SavedReview(Part):
    """A review as `trainform apply` needs it."""

    at: str = Field(description="When the review was made (RFC 3339, UTC).")
    stack: str
    commit: str = Field(default="", description="HEAD of git then, for people; it is not compared.")
    facts: dict[FactKind, JsonValue] = Field(description="What decides the change, with a keyed hash for each secret.")
    not_compared: list[str] = Field(default=[], description="What is unknown, as whole sentences.")


class SavedFile(Part):
    """The file. key: the key of all hashes, encrypted by the stack's secrets provider. seal: the keyed hash of
    `review`, so that a change of the file is noticed."""

    saved_review: Literal[3] = 3
    key: dict[str, JsonValue]
    review: SavedReview
    seal: Hash


class Change(Part):
    """A difference from the review. null: not set, or not shown."""

    what: FactKind
    path: str = Field(description="Field, file, key or resource.")
    was: JsonValue = None
    now: JsonValue = None
    sentence: str


class Verdict(Part):
    """The answer of `trainform apply`. result: `unmoved` with --check, else `applied` or `failed`."""

    version: Literal[1] = 1
    stack: str
    reviewed: str
    result: Literal["unmoved", "moved", "applied", "failed"]
    moved: list[Change] = Field(default=[], description="Empty: nothing has changed.")
    not_compared: list[str] = Field(default=[], description="What is unknown, as whole sentences.")
    fix: str = ""
