"""Role groups: pods that share one template."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, Tag, WithJsonSchema, model_validator

from trainform import defaults
from trainform.spec.base_model import (
    MAPPING,
    TEXT,
    Command,
    Model,
    OnChange,
    OneOf,
    Patch,
    Text,
    added_later,
    value_shape,
)
from trainform.spec.names import (
    EXIT_CODES,
    RESTART,
    AbsolutePath,
    EntryKey,
    EnvName,
    Image,
    Label,
    LabelKey,
    LabelValue,
    PodField,
    ResourceName,
    Subdomain,
)
from trainform.spec.quantities import Bytes, Duration, Quantity, SharedMemory
from trainform.spec.refusal import refusal

RestartWords = Annotated[str, StringConstraints(pattern=RESTART)]
"""The reaction to a failure, in words."""
ExitCodes = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    StringConstraints(pattern=EXIT_CODES),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 255}, {"type": "string"}]}),
]


class RestartRule(Model, on_change=OnChange.NEW_REVISION):
    """The reaction to a failure, by exit codes and causes. A pod that restarts is made anew."""

    when: RestartWords = Field(default="on-failure", description="The reaction in words.")
    exit_codes: list[ExitCodes] = Field(
        default=[],
        examples=[[42, "128-255"]],
        description="Exit codes upon which a pod restarts; any other one ends the job. Empty: all.",
    )
    ignore: Literal["disruption"] | None = Field(
        default=None,
        description="Failures that count for no limit: evictions, preemptions, lost nodes. Empty: none.",
    )

    @property
    def codes(self) -> tuple[int, ...]:
        """Return all exit codes in order."""
        bounds = [[int(number) for number in codes.split("-")] for codes in self.exit_codes]
        return tuple(sorted({code for each in bounds for code in range(each[0], each[-1] + 1)}))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        bounds = [[int(number) for number in codes.split("-")] for codes in self.exit_codes]
        if any(each[0] > each[-1] or each[-1] > 255 for each in bounds):
            raise refusal("the exit codes are not between 1 and 255, in order", "write them like 42 or 128-255")
        if self.exit_codes and self.when in ("never", "all-when-evicted"):
            raise refusal(f"`exit_codes` and `when: {self.when}` exclude each other", "write `when: on-failure`")
        if self.ignore is not None and self.when == "all-when-evicted":
            raise refusal("`ignore` and `when: all-when-evicted` exclude each other", "remove one of the two")
        if not self.exit_codes and self.ignore is None:
            raise refusal("the mapping has neither `exit_codes` nor `ignore`", f"write `restart: {self.when}`")
        return self


Restart = Annotated[Annotated[RestartWords, Tag(TEXT)] | Annotated[RestartRule, Tag(MAPPING)], value_shape]


class KeyRef(Model, on_change=OnChange.NEW_REVISION):
    """An entry of a Secret or ConfigMap in the namespace."""

    name: Subdomain = Field(description="Name of the object.")
    key: EntryKey = Field(description="Key inside it.")


class EnvSource(OneOf, on_change=OnChange.NEW_REVISION):
    """A reference to a value in the namespace or in the pod."""

    one_of = ("secret", "config_map", "field")

    secret: KeyRef | None = Field(default=None, description="From a Secret; plan and preview never show the value.")
    config_map: KeyRef | None = Field(default=None, description="From a ConfigMap.")
    field: PodField | None = Field(
        default=None, description="From a field of the pod (status.podIP, metadata.labels['KEY'])."
    )


Env = dict[EnvName, Annotated[Annotated[Text, Tag(TEXT)] | Annotated[EnvSource, Tag(MAPPING)], value_shape]]


class Amounts(Model, on_change=OnChange.NEW_REVISION):
    """Request and limit of a resource, if they differ."""

    request: Quantity | None = Field(
        default=None, description="Amount that the scheduler reserves on a node. Empty: the limit."
    )
    limit: Quantity | None = Field(default=None, description="Amount that a container cannot exceed. Empty: none.")

    @model_validator(mode="after")
    def _sets_one(self) -> Self:
        if self.request is None and self.limit is None:
            raise refusal("the mapping has neither a request nor a limit", "write one of them, or an amount for both")
        return self


class ByteAmounts(Amounts, on_change=OnChange.NEW_REVISION):
    """Request and limit of memory, if they differ."""

    request: Bytes | None = Field(default=None, description=Amounts.model_fields["request"].description)
    limit: Bytes | None = Field(default=None, description=Amounts.model_fields["limit"].description)


Amount = Annotated[Annotated[Quantity, Tag(TEXT)] | Annotated[Amounts, Tag(MAPPING)], value_shape]
ByteAmount = Annotated[Annotated[Bytes, Tag(TEXT)] | Annotated[ByteAmounts, Tag(MAPPING)], value_shape]


def request_and_limit(amount: str | Amounts) -> tuple[str | None, str | None]:
    """Return both; None for no limit. As in Kubernetes, a limit alone is the request too."""
    if not isinstance(amount, Amounts):
        return amount, amount
    return amount.limit if amount.request is None else amount.request, amount.limit


class Toleration(Model, on_change=OnChange.NEW_REVISION):
    """A taint that the pods may ignore; the fields are those of Kubernetes."""

    key: LabelKey | None = Field(
        default=None, description="Key of the taint. Empty: every taint, with operator Exists."
    )
    operator: Literal["Exists", "Equal"] = Field(default="Equal", description="How to compare, as in Kubernetes.")
    value: LabelValue | None = Field(default=None, description="Value of the taint. Empty: none, with operator Exists.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Effect to tolerate. Empty: every effect."
    )
    toleration_seconds: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Time on a node that gets a NoExecute taint. Empty: for ever."
    )


Labels = dict[LabelKey, Annotated[list[LabelValue], Field(min_length=1)]]


class NodeAffinity(Model, on_change=OnChange.NEW_REVISION):
    """Nodes by their labels, with any of the values of a key. A node must satisfy all keys of `require` and `avoid`."""

    require: Labels = Field(
        default={},
        examples=[{"topology.kubernetes.io/zone": ["a", "b"]}],
        description="Labels of which its nodes must have one of the values.",
    )
    avoid: Labels = Field(default={}, description="Labels of which its nodes must have none of the values.")
    prefer: Labels = Field(default={}, description="Labels by which the scheduler prefers nodes, all keys alike.")


class InitContainer(Model, on_change=OnChange.NEW_REVISION):
    """A container that runs to completion before the role's container starts, with the same volumes and environment."""

    name: Label = Field(description="Its name in the pod.")
    image: Image | None = Field(default=None, description="Image with the program. Empty: the role's image.")
    command: Command = Field(description="What it runs.")
    env: Env = Field(default={}, description="Further variables.")


class Policy(Model, on_change=OnChange.NEW_REVISION):
    """A lifecycle policy: an action upon an event or an exit code."""

    action: Literal[
        "AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob", "ResumeJob"
    ] = Field(description="What is done.")
    event: (
        Literal["*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"]
        | None
    ) = Field(
        default=None,
        description="Event to act upon; a scale-down raises PodEvicted too. Set it or `exit_code`. Empty: none.",
    )
    exit_code: int | None = Field(
        default=None,
        ge=-(2**31),
        le=2**31 - 1,
        description="Exit code of the first container, not 0. Set it or `event`. Empty: none.",
    )
    timeout: Duration | None = Field(
        default=None, description="Time before it acts; PodPending needs it. Empty: at once."
    )

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        if (self.event is None) == (self.exit_code is None):
            raise refusal("the policy must have exactly one trigger", "write either `event` or `exit_code`")
        if self.exit_code == 0:
            raise refusal("the policy acts upon exit code 0, which is success", "use `event: TaskCompleted`")
        if self.event == "PodPending" and self.timeout is None:
            raise refusal(
                "the policy acts upon PodPending without a timeout, and would be ignored", "add `timeout: 10m`"
            )
        return self


class Role(Model, on_change=OnChange.NEW_REVISION):
    """One role group: the number of pods, their resources and their command."""

    replicas: int = Field(
        default=1,
        ge=0,
        le=defaults.MOST_REPLICAS,
        json_schema_extra=OnChange.IN_PLACE_WITHOUT_RANKS,
        description="Pods of this role. 0 pauses an unranked role.",
    )
    ranked: bool = Field(default=True, description="Whether its pods have ranks in the training world.")
    min_available: int | None = Field(
        default=None,
        ge=0,
        le=defaults.MOST_REPLICAS,
        json_schema_extra=OnChange.IN_PLACE_BY_BACKEND,
        description="Pods that must be placed together (gang); a static job needs all ranked ones. Empty: all of them.",
    )
    image: Image | None = Field(default=None, description="Image of this role. Empty: the experiment's.")
    command: Command | None = Field(
        default=None,
        description="Command instead of the launcher; an unranked role needs it, or `args`. Empty: the launcher.",
    )
    args: list[Text] | None = added_later(
        description="Arguments for the ENTRYPOINT of the image, in an unranked role without a command; `[]` keeps the "
        "image's CMD. Empty: none."
    )
    working_dir: AbsolutePath | None = added_later(
        description="Folder in which the command starts, an absolute path. Empty: the image's."
    )
    accelerators: dict[Label, Annotated[int, Field(ge=0, le=defaults.MOST_OF_A_NODE)]] = Field(
        default={},
        max_length=1,
        examples=[{"a800": 8}],
        description="Accelerators of each pod, by the environment's kind.",
    )
    cpu: Amount | None = Field(
        default=None,
        description="CPU cores of each pod, request and limit; `{request: 4, limit: 8}` if they differ. Empty: "
        "unlimited.",
    )
    memory: ByteAmount | None = Field(
        default=None,
        description="Memory of each pod, request and limit; `{request: 32Gi, limit: 64Gi}` if they differ. Empty: "
        "unlimited.",
    )
    resources: dict[ResourceName, Amount] = Field(
        default={},
        description="Other resources by their names in Kubernetes (ephemeral-storage: 100Gi). Request and limit of an "
        "extended resource are equal.",
    )
    shared_memory: SharedMemory | None = Field(
        default=None, description="Size of /dev/shm, `unlimited`, or 0 for none. Empty: the experiment's."
    )
    env: Env = Field(
        default={}, examples=[{"NCCL_DEBUG": "INFO"}], description="Variables of this role; they win over all others."
    )
    init: list[InitContainer] = Field(default=[], description="Containers that run first, in order.")
    restart: Restart | None = Field(
        default=None,
        description="Reaction to a failure in this role, in words or by exit codes (docs/reference/backends.md). "
        "Empty: the experiment's.",
    )
    grace_period: Duration | None = added_later(
        description="Time that its pods have to end after SIGTERM, before SIGKILL; 0s for none. Empty: 30s."
    )
    max_retry: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Fail at the Nth restart of a container, counted over the role (3 allows two restarts). "
        "Empty: one more than in `restart`, or 3.",
    )
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies of this role, before those of the experiment; [] removes the defaults. "
        "Empty: the defaults.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels of its nodes, in addition to the environment's."
    )
    node_affinity: NodeAffinity | None = added_later(
        description="Nodes by label values, in addition to `node_selector`. Empty: any."
    )
    tolerations: list[Toleration] = Field(
        default=[], description="Taints that its pods may ignore, in addition to the environment's."
    )
    labels: dict[LabelKey, LabelValue] = Field(default={}, description="Labels of its pods.")
    annotations: dict[LabelKey, Text] = Field(default={}, description="Annotations of its pods.")
    pod_overrides: Patch = Field(
        default={},
        description="Merge patch (RFC 7386) on the pod template; a list of named items may be a mapping by name.",
    )
