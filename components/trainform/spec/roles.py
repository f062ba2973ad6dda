"""Role groups: pods that share one template."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, Tag, model_validator

from trainform import defaults
from trainform.spec.base_model import MAPPING, TEXT, Command, Model, OneOf, Patch, Text, value_shape
from trainform.spec.metadata import OnChange
from trainform.spec.names import (
    RESTART,
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
from trainform.spec.quantities import Bytes, Duration, Quantity
from trainform.spec.refusal import refusal

Restart = Annotated[str, StringConstraints(pattern=RESTART)]
"""The reaction to a failure, in words."""


class KeyRef(Model, on_change=OnChange.NEW_REVISION):
    """An entry of a Secret or ConfigMap in the namespace."""

    name: Subdomain = Field(description="Name of the object.")
    key: EntryKey = Field(description="Key inside it.")


class EnvSource(OneOf, on_change=OnChange.NEW_REVISION):
    """A reference to a value in the namespace or in the pod."""

    one_of = ("secret", "config_map", "field")

    secret: KeyRef | None = Field(
        default=None, description="From a Secret; the value never appears in plan or preview."
    )
    config_map: KeyRef | None = Field(default=None, description="From a ConfigMap.")
    field: PodField | None = Field(
        default=None, description="From a field of the pod, such as status.podIP or metadata.labels['KEY']."
    )


Env = dict[EnvName, Annotated[Annotated[Text, Tag(TEXT)] | Annotated[EnvSource, Tag(MAPPING)], value_shape]]


class Toleration(Model, on_change=OnChange.NEW_REVISION):
    """A taint that the pods may ignore; the fields are those of Kubernetes."""

    key: LabelKey | None = Field(
        default=None, description="Key of the taint. Empty: every taint, which needs operator Exists."
    )
    operator: Literal["Exists", "Equal"] = Field(default="Equal", description="How to compare, as in Kubernetes.")
    value: LabelValue | None = Field(default=None, description="Value of the taint. Empty: operator Exists has none.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Effect to tolerate. Empty: every effect."
    )
    toleration_seconds: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="How long to stay on a node that gets a NoExecute taint, in seconds. Empty: for ever.",
    )


class InitContainer(Model, on_change=OnChange.NEW_REVISION):
    """A container that runs to completion before the role's container starts, with the same volumes and environment."""

    name: Label = Field(description="Its name in the pod.")
    image: Image | None = Field(default=None, description="Empty: the role's image.")
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
        description="Upon this event. Empty: upon an exit code. PodEvicted is raised by a voluntary scale-down too.",
    )
    exit_code: int | None = Field(
        default=None,
        ge=-(2**31),
        le=2**31 - 1,
        description="Upon this exit code of the first container, not 0. Empty: upon an event.",
    )
    timeout: Duration | None = Field(
        default=None, description="Wait this long before acting (5m); PodPending needs it. Empty: act at once."
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
    ranked: bool = Field(
        default=True, description="Whether its pods are nodes of the training world (RANK, WORLD_SIZE)."
    )
    min_available: int | None = Field(
        default=None,
        ge=0,
        le=defaults.MOST_REPLICAS,
        json_schema_extra=OnChange.IN_PLACE_BY_BACKEND,
        description="Pods that must be placed together before any starts (gang). Empty: all of them, those of an "
        "unranked role too. Where a launcher starts a static world, no ranked pod can be left out.",
    )
    image: Image | None = Field(default=None, description="Empty: the experiment's image.")
    command: Command | None = Field(
        default=None,
        description="What its pods run instead of the launcher; an unranked role needs one. Empty: the launcher.",
    )
    accelerators: dict[Label, Annotated[int, Field(ge=0, le=defaults.MOST_OF_A_NODE)]] = Field(
        default={},
        max_length=1,
        examples=[{"a800": 8}],
        description="Accelerators of each pod by the environment's kind ({a800: 8}).",
    )
    cpu: Quantity | None = Field(
        default=None, description="CPU cores of each pod, request and limit (8, 500m). Empty: unlimited."
    )
    memory: Bytes | None = Field(
        default=None, description="Memory of each pod in bytes, request and limit (64Gi). Empty: unlimited."
    )
    resources: dict[ResourceName, Quantity] = Field(
        default={}, description="Any other resource by its name in Kubernetes (ephemeral-storage: 100Gi)."
    )
    shared_memory: Bytes | None = Field(
        default=None, description="Empty: the experiment's `shared_memory`. 0: none for this role."
    )
    env: Env = Field(
        default={}, examples=[{"NCCL_DEBUG": "INFO"}], description="Variables of this role; they win over every other."
    )
    init: list[InitContainer] = Field(default=[], description="Containers that run first, in order.")
    restart: Restart | None = Field(
        default=None,
        description="Empty: the experiment's `restart`. Where an operator cannot leave out an unranked role that gives "
        "up, its own never or `3 times` ends the job (docs/reference/backends.md).",
    )
    max_retry: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Fail at the Nth restart of a container, over all pods of the role (3 allows two restarts). "
        "Empty: one more than the number in `restart`, else 3.",
    )
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies of this role. One for an event takes the place of the default for that "
        "event, `*` of all of them; other defaults stay. Empty: the defaults (`policies` of the "
        "experiment has them); []: none of them.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels that its nodes must have, in addition to those of the environment."
    )
    tolerations: list[Toleration] = Field(
        default=[], description="Taints it may ignore, in addition to those of the environment."
    )
    labels: dict[LabelKey, LabelValue] = Field(default={}, description="Labels of its pods.")
    annotations: dict[LabelKey, Text] = Field(default={}, description="Annotations of its pods.")
    pod_overrides: Patch = Field(
        default={},
        description="Merge patch (RFC 7386) on the rendered pod template, for what has no field here; a list of "
        "named items may be patched as a mapping of their names. Shown in the plan.",
    )
