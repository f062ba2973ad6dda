"""What the file of a saved review holds, and what `trainform apply` says of it.

The engine's own plan is a constraint on operations: it holds neither the state, the program nor the cluster. So this
file holds all of these.
"""

from typing import Literal

from pydantic import Field, JsonValue

from trainform.report_part import Part

VERSION = 1
SCHEMA_FILE = "apply.schema.json"
Hash = str
"""A keyed hash, as hexadecimal digits: without the key, nobody can guess what it was made of."""


class Setting(Part):
    """A value of the stack's config. shown: the value of a key of trainform's own; null: it is not shown."""

    hash: Hash
    shown: str | None = None


class Document(Part):
    """An experiment or an environment, with every default. shown: without what looks like a secret."""

    hash: Hash
    shown: JsonValue


class State(Part):
    """What Pulumi has of the stack."""

    written: str = Field(description="When the state was written last, which every `pulumi up` does.")
    resources: Hash
    pending: Hash = Field(description="Of the operations that an interrupted `pulumi up` has left.")
    deployed: dict[str, Document] = Field(description="What is recorded as deployed, by experiment.")


class Cluster(Part):
    """Where a context leads. uid: of the namespace kube-system."""

    context: str | None
    server: str
    uid: str


class Facts(Part):
    """Everything from which a preview follows."""

    project: str
    stack: str
    backend: str
    engine: str
    trainform: str
    cluster: Cluster | None = Field(description="null: no environment says where it is.")
    state: State
    config: dict[str, Setting]
    program: dict[str, Hash] = Field(description="By path from the project's folder.")
    policy: dict[str, Hash] = Field(description="The files of local policy packs and of their config, by path.")
    variables: dict[str, Hash] = Field(
        default={}, description="The shell's variables for Pulumi's Kubernetes provider, by name."
    )
    experiment: Document | None
    environment: Document | None


class Touched(Part):
    """An object of the cluster that the change touches. uid: "" if there is none. fields: those that are not as they
    were applied last, with their live values. unread: why nothing is known of it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    fields: dict[str, JsonValue] = Field(default={}, description="By path.")
    unread: str = ""


class Planned(Part):
    """What the engine will do to one resource. inputs: those that it will have, without secrets."""

    urn: str
    operation: str
    inputs: dict[str, JsonValue]
    parent: str
    provider: str
    keep: bool
    protect: bool


class Saved(Part):
    """A review as far as `trainform apply` needs it."""

    at: str = Field(description="When the review was made (RFC 3339, UTC).")
    facts: Facts
    steps: list[Planned]
    objects: list[Touched]
    packs: dict[str, str] = Field(description="The policy packs that judged the preview, by name, with their versions.")
    not_compared: list[str] = Field(default=[], description="What is not known, as whole sentences.")


class SavedFile(Part):
    """The file. key: the key of all hashes, encrypted by the stack's secrets provider. seal: the keyed hash of
    `review`, so that nobody changes it unseen."""

    saved_review: Literal[1] = 1
    key: dict[str, JsonValue]
    review: Saved
    seal: Hash


What = Literal[
    "backend",
    "cluster",
    "engine",
    "trainform",
    "provider",
    "state",
    "deployed",
    "config",
    "experiment",
    "environment",
    "program",
    "policy",
    "variable",
    "object",
    "step",
]


class Moved(Part):
    """Something that is not as it was when the review was saved."""

    what: What
    path: str = Field(description="Field, file, key or resource.")
    was: JsonValue = None
    now: JsonValue = None
    sentence: str


class Verdict(Part):
    """What `trainform apply` found. result: `unmoved` with --check, else `applied` or `failed`."""

    version: Literal[1] = 1
    stack: str
    reviewed: str
    result: Literal["unmoved", "moved", "applied", "failed"]
    moved: list[Moved] = Field(default=[], description="Empty: nothing has.")
    not_compared: list[str] = Field(default=[], description="What is not known, as whole sentences.")
    fix: str = ""
