"""The report of a review, and its JSON Schema. Every form of a review is made from it."""

import enum
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, JsonValue, PlainSerializer, WithJsonSchema

from trainform.console.report_part import Part

VERSION = 2


class Level(enum.IntEnum):
    """The weight of a finding; a higher level is worse."""

    low = 1
    medium = 2
    high = 3


class Category(enum.StrEnum):
    """The subject of a finding; `--fail-on` takes these words."""

    data = "data"
    restart = "restart"
    neighbours = "neighbours"
    security = "security"
    contract = "contract"
    cost = "cost"
    capacity = "capacity"
    drift = "drift"
    promotion = "promotion"
    limits = "limits"
    environment = "environment"
    unknown = "unknown"


class Outcome(enum.StrEnum):
    """The outcome of a review. `incomplete`: no finding, but something could not be checked."""

    clean = "clean"
    findings = "findings"
    incomplete = "incomplete"
    failed = "failed"


class Place(Part):
    """The place of a field: its path in the words of the file, and the file with the line (from 1; 0: unknown)."""

    path: str = Field(description="Path of the field: roles.worker.env.NCCL_DEBUG.")
    file: str = Field(default="", description="File from the project's folder on; empty: unknown.")
    line: int = Field(default=0, description="Line in the file, from 1; 0: unknown.")
    origin: str = Field(default="", description="Path in the file, if it is another: environments.prod.queue.")


class Change(Part):
    """A field before and after. null: not set. `[secret]` stands for a secret."""

    place: Place
    before: JsonValue = None
    after: JsonValue = None


EffectKind = Literal["create", "replace", "update", "scale", "delete", "leave", "keep", "stop", "none", "unknown"]
Thing = Literal[
    "job", "claim", "queue", "Secret", "namespace", "priority class", "environment", "record", "object", "stack"
]


class Effect(Part):
    """One thing that happens, with the changes that cause it."""

    kind: EffectKind
    thing: Thing = Field(default="object", description="What it happens to; stack: to nothing, or it is not known.")
    object: str = Field(description="Name of the object or component: sdxl-lora-1f3a9c.")
    before: JsonValue = Field(default=None, description="Of a job its name or replicas by role, of a claim its size.")
    after: JsonValue = None
    state: Literal["running", "finished", "pending", "absent", "unknown", ""] = Field(
        default="", description="Of an existing job in the cluster."
    )
    age: str = Field(default="", description="How long the job has been running: 16 h; empty: not running or unknown.")
    size: str = Field(default="", description="What the job holds or asks for: 32 a800, or 2 pods; empty: unknown.")
    kept: bool = Field(default=False, description="Whether the old object stays in the cluster.")
    sentence: str = Field(description="What happens, as one whole sentence.")
    causes: list[Change] = Field(default=[])


class Dependents(Part):
    """An object of an environment that changes, or the environment itself, and the experiments that use it."""

    kind: str = Field(description="Queue, PersistentVolumeClaim, Namespace, PriorityClass or Environment.")
    object: str
    stacks: dict[str, str] = Field(description="The experiment of each stack that uses it; empty: none does.")
    sentence: str


class WaiverUse(Part):
    """A waiver of the experiment, and what becomes of it."""

    code: str
    fingerprint: str
    owner: str
    until: str
    reason: str
    state: Literal["applies", "void", "expired", "refused"]
    why: str = Field(default="", description="Why it does not apply; empty: it applies.")


class Finding(Part):
    """Something that a reviewer must know."""

    code: str = Field(description="Stable name of the kind: TR-DATA-1; of a limit of the environment: TF-IMG-2.")
    category: Category
    level: Literal["low", "medium", "high"]
    object: str
    field: str = ""
    before: JsonValue = Field(default=None, description="null: not set, or not compared (limits, capacity).")
    after: JsonValue = None
    title: str = Field(description="What it is, as one whole sentence.")
    why: str = Field(description="Why it matters.")
    fix: str = Field(description="What to do.")
    place: Place | None = None
    fingerprint: str
    waived: bool = False


class Money(Part):
    """An amount for an hour, or in all."""

    amount: Annotated[
        Decimal, PlainSerializer(float, return_type=float, when_used="json"), WithJsonSchema({"type": "number"})
    ] = Field(max_digits=18, decimal_places=2, description="In whole hundredths.")
    currency: str

    @property
    def text(self) -> str:
        """Return the amount as it is printed: 16.80 USD."""
        return f"{self.amount:.2f} {self.currency}"


class Cost(Part):
    """The cost of a stack per hour. null: not known, or nothing has a price; `known` and `unknown` say which."""

    before: Money | None = None
    after: Money | None = None
    difference: Money | None = None
    percent: str | None = Field(
        default=None,
        pattern=r"^[+-]?[0-9]+(\.[0-9]+)?$",
        description="Of the cost before: +20.0; null: the cost before is 0 or unknown.",
    )
    prices_of: str | None = Field(default=None, description="Day of the oldest price: 2026-01-01.")
    price_age_days: int | None = None
    hours: str | None = Field(default=None, description="The run's length in hours, where it is known or given.")
    total: Money | None = Field(default=None, description="`after` times `hours`.")
    known: bool = Field(default=True, description="false: something has a price that is not known.")
    unknown: str = Field(default="", description="Why an amount is missing: no price of a800. Empty: none is.")


class Shortage(Part):
    """The missing amount of one resource, and who holds it."""

    resource: str
    asked: str
    available: str
    missing: str
    holders: list[str] = Field(default=[], description="ai/bert-77aa01: 8 (queue night, priority 100).")
    evicts: list[str] = Field(default=[], description="Holders that the actions `preempt` and `reclaim` evict.")


class RoleRoom(Part):
    """The room of the cluster's nodes for the pods of a role, each role by itself."""

    role: str
    pods: int
    fit: int = Field(description="How many of them fit now.")
    nodes: int = Field(description="Nodes that can take one more of them now.")
    resource: str = Field(description="The resource that decides: a800.")
    largest: str = Field(description="The most of it that is free on one node.")


class Capacity(Part):
    """The room for the pods. An estimate, not a reservation."""

    verdict: Literal["now", "later", "never", "unknown", "unchanged"]
    sentence: str
    clause: str = Field(default="", description="Why the job does not start: waits for 8 a800 held by clip-77aa01.")
    reason: str = Field(default="", description="Why not all pods start now, or why it is unknown.")
    basis: Literal["cluster", "none"]
    shortages: list[Shortage] = Field(default=[])
    roles: list[RoleRoom] = Field(default=[])


class Fact(Part):
    """One of the four answers of a review: the run, the data, the cost, the queue."""

    key: Literal["run", "data", "cost", "queue"]
    number: str = Field(description="The amount or word to read first: 16 a800, +24.00 USD/h, fits now.")
    text: str = Field(default="", description="What happens to it, as a part of a sentence.")


class PictureFact(Part):
    """Something that a part of the picture says of itself, before and after; null: it is not there."""

    label: str
    before: str | None = None
    after: str | None = None


Mark = Literal["same", "added", "removed", "changed", "restarted"]


class PictureNode(Part):
    """A part of the picture. A role is one part, however many pods it has."""

    id: str = Field(description="Unique in its picture: role/worker.")
    kind: Literal["queue", "job", "role", "claim"]
    name: str
    change: Mark
    facts: list[PictureFact] = Field(default=[])


class PictureEdge(Part):
    """A line from one part of the picture to another."""

    start: str
    end: str
    label: str = Field(default="", description="Where a claim is mounted.")
    change: Mark


class Picture(Part):
    """The parts of a job, before and after."""

    job: str
    nodes: list[PictureNode]
    edges: list[PictureEdge]


class FieldChange(Part):
    """A field of an object, without noise. null: not set."""

    path: str
    before: JsonValue = None
    after: JsonValue = None


class ObjectChange(Part):
    """An object that the engine creates, changes or deletes."""

    operation: str = Field(description="In the engine's words; an unknown operation of a newer engine as it is.")
    kind: str
    name: str
    destructive: bool = Field(description="Whether something is deleted or made anew.")
    fields: list[FieldChange] = Field(default=[])
    fields_known: bool = Field(default=True, description="false: the preview does not say which fields differ.")


class NotChecked(Part):
    """Something that this review could not check."""

    what: str
    reason: str


class EngineMessage(Part):
    """A warning or an error of the engine or of a policy."""

    severity: Literal["info", "warning", "error"]
    text: str
    object: str = ""


class WaivedGate(Part):
    """A gate that was waived when a release was promoted."""

    gate: str
    by: str
    reason: str


class Origin(Part):
    """The origin of the release that the stack follows, by the evidence in its file."""

    release: str
    source: str = Field(description="The stack from which it was promoted; of a rollback the stack itself.")
    environment: str = Field(description="The environment in which it was deployed then.")
    by: str
    at: str
    passed: list[str] = Field(default=[], description="Gates that it passed.")
    waived: list[WaivedGate] = Field(default=[])
    rollback: str = Field(default="", description="Why the stack was rolled back to it; empty: it was promoted.")

    @property
    def text(self) -> str:
        """All of it as one line."""
        if self.rollback:
            return f"Release {self.release}: rolled back by {self.by} at {self.at}: {self.rollback}"
        gates = [f"passed {', '.join(self.passed)}"] if self.passed else []
        gates += [f"waived {each.gate} by {each.by} ({each.reason})" for each in self.waived]
        judged = f"; gates: {'; '.join(gates)}" if gates else ""
        return f"Release {self.release} from {self.source}, promoted by {self.by} at {self.at}{judged}"


class Report(Part):
    """The report on one stack."""

    stack: str
    environment: str = ""
    experiment: str = ""
    release: str = Field(default="", description="The release that the stack follows; empty: none, or it is not known.")
    origin: Origin | None = Field(default=None, description="Of the release; null: there is none, or it is not known.")
    outcome: Outcome
    headline: str
    failure: list[str] = Field(default=[], description="Of a preview that failed: the lines after the headline's.")
    facts: list[Fact] = Field(default=[], description="In the order run, data, cost, queue; empty: the preview failed.")
    effects: list[Effect] = Field(default=[])
    dependents: list[Dependents] = Field(default=[], description="Of an environment's own stack.")
    findings: list[Finding] = Field(default=[])
    cost: Cost
    capacity: Capacity
    objects: list[ObjectChange] = Field(default=[])
    pictures: list[Picture] = Field(default=[])
    read_at: str = Field(default="", description="When the cluster was read, in RFC 3339; empty: it was not read.")
    waivers: list[WaiverUse] = Field(default=[])
    limits: str = Field(default="", description="Who checked the environment's limits; empty: they are not checked.")
    not_checked: list[NotChecked] = Field(default=[])
    messages: list[EngineMessage] = Field(default=[])
    masked: int = Field(default=0, description="How many secret values are masked.")


class Selection(Part):
    """The stacks that a change of files touches (`--changed-since`). Paths count from the project's folder."""

    since: str = Field(description="What was given: origin/main.")
    base: str = Field(description="The commit from which the change began: the merge base of `since` and HEAD.")
    touched: dict[str, list[str]] = Field(description="The files that touch each of the stacks that are reviewed.")
    removed: list[str] = Field(default=[], description="Stacks without a file now: not previewed, resources stay.")
    unaffected: list[str] = Field(default=[], description="Not previewed: only the environment's file differs.")
    unrecorded: list[str] = Field(default=[], description="Environments that differ and have no stack of their own.")


class Review(Part):
    """A whole review, of one stack or of several: the same for both."""

    version: int = VERSION
    outcome: Outcome = Field(description="The worst of the outcomes of the stacks.")
    project: str = Field(default="", description="Name of the project in Pulumi.yaml; empty: unknown.")
    cost: Cost = Field(description="The cost of all stacks together; of one stack, its own.")
    stacks: list[Report] = Field(description="In the order in which they were named.")
    selection: Selection | None = Field(default=None, description="null: the stacks were named.")
