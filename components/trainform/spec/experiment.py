"""The file of a researcher: one training job, for any cluster."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, Tag, ValidationInfo, field_validator

from trainform import defaults
from trainform.spec.base_model import MAPPING, TEXT, Model, NonEmpty, Overlay, Patch, Text, value_shape
from trainform.spec.launchers import Launcher
from trainform.spec.metadata import OnChange
from trainform.spec.names import BackendName, Image, Label, LabelKey, LabelValue, QueueName, ServiceLabel, Subdomain
from trainform.spec.network import Network
from trainform.spec.prepare import Step
from trainform.spec.quantities import Bytes, Duration
from trainform.spec.queue_fields import OwnQueue
from trainform.spec.refusal import refusal
from trainform.spec.roles import Env, Policy, Restart, Role, Toleration
from trainform.spec.ssh import RunAs, Ssh
from trainform.spec.storage import Volume
from trainform.spec.waivers import Waiver


class Runtime(Model, on_change=OnChange.NEW_REVISION):
    """An existing runtime. Its pod templates are used, and the job changes only the fields that a runtime lets it."""

    name: Subdomain = Field(description="Name of the runtime in the cluster.")
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"] = Field(
        default="ClusterTrainingRuntime", description="Of the whole cluster, or of the namespace."
    )
    file: NonEmpty | None = Field(
        default=None,
        json_schema_extra=OnChange.NO_OBJECT,
        description="YAML file with the same runtime; a relative path counts from the project's folder. With it "
        "`trainform check` knows what `up` would find. Empty: only `up` reads the runtime, from the "
        "cluster.",
    )
    # content of the file; only `spec.load` reads files
    _content: dict[str, Any] | None = PrivateAttr(default=None)

    @property
    def content(self) -> dict[str, Any] | None:
        """Return the object in the file, None if no file was read."""
        return self._content

    def attach_content(self, content: dict[str, Any]) -> Self:
        """Return a copy with the content of its file."""
        read = self.model_copy()
        read._content = content
        return read


OVERLAYS = "environments"
"""The field with the merge patches for each environment. `overlay` applies and reads them."""


def _some_ranked(roles: dict[str, Role]) -> dict[str, Role]:
    if not any(role.ranked for role in roles.values()):
        raise refusal(
            "no role is ranked, so there is no training world", "leave `ranked` out, or set it true, on one role"
        )
    return roles


class Experiment(Model, on_change=OnChange.NEW_REVISION):
    """One training job. Each part has its own module."""

    name: Annotated[ServiceLabel, StringConstraints(max_length=56)] = Field(
        json_schema_extra=OnChange.NEW_OBJECTS,
        description="Name of the experiment and stem of all names; a DNS label that starts with a letter.",
    )
    owner: NonEmpty | None = Field(
        default=None, json_schema_extra=OnChange.NO_OBJECT, description="Name or e-mail address. Empty: unknown."
    )
    backend: BackendName | None = Field(
        default=None, description="Operator that runs the job. Empty: the environment's."
    )
    runtime: Runtime | None = Field(
        default=None,
        description="An existing runtime to run on, with a backend that has runtimes (docs/reference/backends.md). "
        "Empty: trainform creates one for each revision.",
    )
    image: Image = Field(description="Container image; pin it by digest for repeatable runs.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When nodes pull the image."
    )
    image_pull_secrets: list[Subdomain] = Field(
        default=[], description="Secrets of the namespace for the registry, in addition to those of the environment."
    )
    launcher: Launcher = Field(
        examples=[{"torchrun": {"script": "/app/train.py"}}], description="What starts the processes on ranked pods."
    )
    roles: Annotated[dict[Label, Role], AfterValidator(_some_ranked)] = Field(
        min_length=1,
        max_length=defaults.MOST_ROLES,
        examples=[{"worker": {"replicas": 2, "accelerators": {"a800": 8}}}],
        description="Role groups by name, in order of rank: rank 0 is the first pod of the first ranked role. At "
        "most 64, since each is a component of every preview; pods that are alike are replicas of one role.",
    )
    network: Network = Field(
        default=Network(),
        json_schema_extra=OnChange.BY_PART,
        description="How the pods reach each other. Empty: over the pod network.",
    )
    storage: dict[Label, Volume] = Field(default={}, json_schema_extra=OnChange.BY_PART, description="Volumes by name.")
    prepare: list[Step] = Field(
        default=[], description="Steps before the containers start, in order, ahead of the roles' own `init`."
    )
    ssh: Ssh | None = Field(
        default=None, description="SSH between the pods. Empty: only where the launcher needs it (deepspeed, mpi)."
    )
    run_as: RunAs | None = Field(default=None, description="User of all containers. Empty: the image's.")
    shared_memory: Bytes | None = Field(
        default=None,
        description="Size limit of a memory volume at /dev/shm, in bytes (20G); it counts as memory of the pod. "
        "Empty: the runtime's 64 MB, too small for PyTorch data loaders with workers.",
    )
    queue: Annotated[Annotated[QueueName, Tag(TEXT)] | Annotated[OwnQueue, Tag(MAPPING)], value_shape] = Field(
        default=defaults.QUEUE, description="Name of a queue of the environment, or the fields of its own queue."
    )
    priority_class: Subdomain | None = Field(
        default=None, description="PriorityClass of the job and its pods. Empty: the cluster's default."
    )
    restart: Restart | None = Field(
        default=None,
        description="What follows a failure of a pod: never (it ends the job), on-failure (a failed container is "
        "started again on its node; at `max_retry` of the role the job ends), `3 times` (the same, at "
        "most three times over the role), all-when-evicted (a ranked pod that fails or is evicted, by a "
        "drain or preemption, starts the whole job again, until that would be the `max_retry`th time). Empty: "
        "never, on-failure for an elastic job.",
    )
    max_retry: int = Field(
        default=defaults.MAX_RETRY,
        ge=1,
        le=2**31 - 1,
        description="Fail at the Nth restart (3 allows two restarts): of the whole job, or of an evicted pod "
        "(docs/reference/backends.md).",
    )
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies of the job, for all roles that have none for the same event. One for an "
        "event takes the place of the default for that event, `*` of all of them; other defaults stay. "
        "Empty: the defaults, by which in a static job the first failure of a ranked pod ends the job "
        "and frees its accelerators (`restart` says what else may follow), and where other pods would "
        "run on, the success of the role that `trainform plan` names ends it too. []: no defaults.",
    )
    ttl: Duration | None = Field(
        default=None,
        json_schema_extra=OnChange.IN_PLACE_BY_BACKEND,
        description="Delete the finished job after this time (12h), which is not drift. Empty: never. After `pulumi "
        "refresh` has noticed that the job is gone, the next `up` creates it again, and it trains again.",
    )
    service_account: Subdomain | None = Field(
        default=None, description="ServiceAccount of the pods. Empty: the namespace's default."
    )
    env: Env = Field(
        default={},
        examples=[{"NCCL_DEBUG": "INFO"}],
        description="Variables of every pod; they win over what the launcher computes.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Labels that all nodes of the job must have."
    )
    tolerations: list[Toleration] = Field(default=[], description="Taints that all pods may ignore.")
    labels: dict[LabelKey, LabelValue] = Field(
        default={},
        json_schema_extra=OnChange.IN_PLACE,
        description="Labels of the job object; those of pods belong to the roles.",
    )
    annotations: dict[LabelKey, Text] = Field(
        default={},
        json_schema_extra=OnChange.IN_PLACE,
        description="Annotations of the job object; those of pods belong to the roles.",
    )
    waivers: list[Waiver] = Field(
        default=[],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Findings of the environment's rules that are accepted, where the environment allows it.",
    )
    manifest_overrides: dict[str, Patch] = Field(
        default={},
        json_schema_extra=OnChange.IN_PLACE_BY_PATCH,
        description="Merge patches (RFC 7386) on rendered objects, by the key that `trainform plan` shows (job, "
        "service, launch-script, queue, claim-NAME), for what has no field here. Shown in the plan.",
    )

    environments: dict[Label, Overlay] = Field(
        default={},
        max_length=defaults.MOST_OVERLAYS,
        examples=[{"prod": {"roles": {"worker": {"replicas": 16}}, "queue": "research"}}],
        json_schema_extra=OnChange.IN_PLACE_BY_PATCH,
        description="What differs in an environment, by its name: a merge patch (RFC 7386) on the rest of the file, "
        "without `name`. null removes a value, a list takes the place of a list, and the items of a list that "
        "have names may be patched as a mapping of their names.",
    )

    # the experiment before an overlay was applied; a file has no field for it
    _base: Self | None = PrivateAttr(default=None)

    @field_validator("ssh")
    @classmethod
    def _ssh_of_the_runtime(cls, ssh: Ssh | None, info: ValidationInfo) -> Ssh | None:
        if ssh is not None and info.data.get("runtime") is not None:
            reason = "`ssh` and `runtime` exclude each other: a runtime has its own SSH or none"
            raise refusal(reason, "remove one of the two")
        return ssh

    @property
    def base(self) -> Self | None:
        """Return the experiment before its overlay was applied; None if it has no overlays."""
        return self._base

    def attach_base(self, base: Self | None) -> Self:
        """Return a copy that records `base`, the experiment before its overlay was applied."""
        copy = self.model_copy()
        copy._base = base
        return copy

    @property
    def elastic(self) -> bool:
        """Return True if the number of ranked replicas may change while the job runs."""
        return self.launcher.elastic is not None
