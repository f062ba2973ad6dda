"""Role groups: pods that share one template."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, Tag, model_validator

from trainform.spec.model import MAPPING, TEXT, Command, Model, Patch, Text, by_shape, only_one
from trainform.spec.names import RESTART, EntryKey, EnvName, Image, Label, LabelKey, LabelValue, ResourceName, Subdomain
from trainform.spec.quantities import Bytes, Duration, Quantity

Restart = Annotated[str, Field(pattern=RESTART)]
"""What follows a failure, in words."""


class KeyRef(Model):
    """An entry of a Secret or ConfigMap in the namespace."""

    name: Subdomain = Field(description="Name of the object. A change makes a new revision.")
    key: EntryKey = Field(description="Key inside it. A change makes a new revision.")


class EnvSource(Model):
    """A value that is not written here."""

    model_config = ConfigDict(json_schema_extra=only_one(("secret", "config_map", "field")))

    secret: KeyRef | None = Field(
        default=None, description="From a Secret; the value never appears in plan or preview."
    )
    config_map: KeyRef | None = Field(default=None, description="From a ConfigMap. A change makes a new revision.")
    field: Literal[
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP"
    ] | None = Field(default=None, description="From a field of the pod, such as status.podIP. A change makes a new revision.")  # fmt: skip

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len([name for name in type(self).model_fields if getattr(self, name) is not None]) != 1:
            raise ValueError("names not exactly one source|write exactly one of secret, config_map, field")
        return self


Env = dict[EnvName, Annotated[Annotated[Text, Tag(TEXT)] | Annotated[EnvSource, Tag(MAPPING)], by_shape]]


class Toleration(Model):
    """A taint that the pods may ignore; the fields are those of Kubernetes."""

    key: LabelKey | None = Field(
        default=None,
        description="Key of the taint. Empty with operator Exists: every taint. A change makes a new revision.",
    )
    operator: Literal["Exists", "Equal"] = Field(
        default="Equal", description="How to compare. Default Equal, as in Kubernetes. A change makes a new revision."
    )
    value: LabelValue | None = Field(
        default=None, description="Value of the taint. Empty with Exists. A change makes a new revision."
    )
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Effect to tolerate. Empty: every effect. A change makes a new revision."
    )
    toleration_seconds: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="How long to stay on a node that gets a NoExecute taint, in seconds. Empty: for ever. A change makes a new revision.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.operator == "Exists" and self.value is not None:
            raise ValueError("gives a value with operator Exists|remove `value`, or write `operator: Equal`")
        if self.operator == "Equal" and self.key is None:
            raise ValueError("gives no key with operator Equal|add `key`, or write `operator: Exists`")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            raise ValueError(
                "gives toleration_seconds without effect NoExecute|write `effect: NoExecute`, or remove it"
            )
        return self


class InitContainer(Model):
    """A container that runs to its end before the role's own starts; it sees the same volumes and environment."""

    name: Label = Field(description="Its name in the pod. A change makes a new revision.")
    image: Image | None = Field(default=None, description="Empty: the role's image. A change makes a new revision.")
    command: Command = Field(description="What it runs. A change makes a new revision.")
    env: Env = Field(default={}, description="Further variables. Default none. A change makes a new revision.")


class Policy(Model):
    """A lifecycle policy of Volcano: an action upon an event or an exit code."""

    action: Literal[
        "AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob", "ResumeJob"
    ] = Field(description="What Volcano does. A change makes a new revision.")  # fmt: skip
    event: Literal["*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"] | None = Field(
        default=None, description="Upon this event. Empty: upon an exit code. PodEvicted is raised by a voluntary scale-down too. A change makes a new revision."
    )  # fmt: skip
    exit_code: int | None = Field(
        default=None, ge=-(2**31), le=2**31 - 1, description="Upon this exit code of the first container, not 0. Empty: upon an event. A change makes a new revision."
    )  # fmt: skip
    timeout: Duration | None = Field(
        default=None, description="Wait this long before acting (5m); PodPending needs it. Default at once. A change makes a new revision."
    )  # fmt: skip

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        if (self.event is None) == (self.exit_code is None):
            raise ValueError("names not exactly one trigger|write either `event` or `exit_code`")
        if self.exit_code == 0:
            raise ValueError("acts upon exit code 0, which is success|use `event: TaskCompleted`")
        if self.event == "PodPending" and self.timeout is None:
            raise ValueError("acts upon PodPending without a timeout, which Volcano ignores|add `timeout: 10m`")
        return self


class Role(Model):
    """One role group: how many pods, what each gets and what it runs."""

    replicas: int = Field(
        default=1,
        ge=0,
        le=100_000,
        description="Pods of this role. Default 1. Updates in place for an unranked role and within the bounds of an elastic job; "
        "else the world size changes in every process, and with it the revision. 0 pauses an unranked role.",
    )
    ranked: bool = Field(
        default=True,
        description="Whether its pods are nodes of the training world (RANK, WORLD_SIZE). Default true. A change makes a new revision.",
    )
    min_available: int | None = Field(
        default=None,
        ge=0,
        description="Pods that must be placed together before any starts (gang). Empty: all of them. Updates in place.",
    )
    image: Image | None = Field(
        default=None, description="Empty: the experiment's image. A change makes a new revision."
    )
    command: Command | None = Field(
        default=None,
        description="What its pods run instead of the launcher; an unranked role needs one. Empty: the launcher. A change makes a new revision.",
    )
    accelerators: dict[Label, Annotated[int, Field(ge=0)]] = Field(
        default={},
        max_length=1,
        examples=[{"a800": 8}],
        description="Accelerators of each pod by the environment's kind ({a800: 8}). Default none. A change makes a new revision.",
    )
    cpu: Quantity | None = Field(
        default=None, description="CPU cores of each pod, request and limit (8, 500m). Empty: unlimited. A change makes a new revision."
    )  # fmt: skip
    memory: Bytes | None = Field(
        default=None, description="Memory of each pod in bytes, request and limit (64Gi). Empty: unlimited. A change makes a new revision."
    )  # fmt: skip
    resources: dict[ResourceName, Quantity] = Field(
        default={},
        description="Any other resource by its name in Kubernetes (ephemeral-storage: 100Gi). Default none. A change makes a new revision.",
    )
    shared_memory: Bytes | None = Field(
        default=None,
        description="Empty: the experiment's `shared_memory`. 0: none for this role. A change makes a new revision.",
    )
    env: Env = Field(
        default={},
        examples=[{"NCCL_DEBUG": "INFO"}],
        description="Variables of this role; they win over every other. Default none. A change makes a new revision.",
    )
    init: list[InitContainer] = Field(
        default=[], description="Containers that run first, in order. Default none. A change makes a new revision."
    )
    restart: Restart | None = Field(
        default=None, description="Empty: the experiment's `restart`. A change makes a new revision."
    )
    max_retry: int | None = Field(
        default=None, ge=1, le=2**31 - 1,
        description="Container restarts over all pods of the role before it counts as failed. Empty: the number in `restart`, else 3. A change makes a new revision.",
    )  # fmt: skip
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies of this role. One for an event takes the place of the default for that event, `*` of all of them; other "
        "defaults stay. Empty: the defaults (`policies` of the experiment has them); []: none of them. A change makes a new revision.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={},
        description="Labels that its nodes must have, beside those of the environment. Default none. A change makes a new revision.",
    )
    tolerations: list[Toleration] = Field(
        default=[],
        description="Taints it may ignore, beside those of the environment. Default none. A change makes a new revision.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels of its pods. Default none. A change makes a new revision."
    )
    annotations: dict[LabelKey, Text] = Field(
        default={}, description="Annotations of its pods. Default none. A change makes a new revision."
    )
    pod_overrides: Patch = Field(
        default={},
        description="Merge patch (RFC 7386) on the rendered pod template, for what has no field here; a list of named items may be "
        "patched as a mapping of their names. Shown in the plan. Default none. A change makes a new revision.",
    )
