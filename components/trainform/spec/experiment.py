"""The file of a researcher: one training job, for any cluster."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, Tag, ValidationInfo, field_validator

from trainform import defaults
from trainform.spec.base_model import (
    MAPPING,
    TEXT,
    Model,
    NonEmpty,
    OnChange,
    Overlay,
    Patch,
    Text,
    added_later,
    value_shape,
)
from trainform.spec.launchers import Launcher
from trainform.spec.limits import Waiver
from trainform.spec.names import (
    BackendName,
    FilePath,
    Image,
    Label,
    LabelKey,
    LabelValue,
    QueueName,
    ServiceLabel,
    Subdomain,
)
from trainform.spec.network import Network, RunAs, Ssh
from trainform.spec.prepare import Step
from trainform.spec.quantities import Duration, RunTime, SharedMemory
from trainform.spec.queue_fields import OwnQueue
from trainform.spec.refusal import refusal
from trainform.spec.roles import Env, Policy, Restart, Role, Toleration
from trainform.spec.storage import File, Volume


class Runtime(Model, on_change=OnChange.NEW_REVISION):
    """An existing runtime. Its pod templates are used, and the job changes only the fields that a runtime lets it."""

    name: Subdomain = Field(description="Name of the runtime in the cluster.")
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"] = Field(
        default="ClusterTrainingRuntime", description="Of the whole cluster, or of the namespace."
    )
    file: NonEmpty | None = Field(
        default=None,
        json_schema_extra=OnChange.NO_OBJECT,
        description="YAML file of the same runtime, so that `trainform check` can read it. Empty: none.",
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
NOT_PATCHED = {
    "name": (
        "the name is that of the objects and of their record, and the same in all environments",
        "remove it; `trainform new NAME --from EXPERIMENT` copies the experiment",
    ),
    OVERLAYS: (
        "the patch is for one environment, and sets nothing for others",
        f"set the value itself, or write it under the first `{OVERLAYS}` of the file",
    ),
}
"""Fields that neither an overlay nor `--set` may have, each with the reason and the fix."""


def _some_ranked(roles: dict[str, Role]) -> dict[str, Role]:
    if not any(role.ranked for role in roles.values()):
        raise refusal(
            "no role is ranked, so there is no training world", "leave `ranked` out, or set it true, on one role"
        )
    return roles


class Experiment(Model, on_change=OnChange.NEW_REVISION):
    """One training job."""

    name: Annotated[ServiceLabel, StringConstraints(max_length=56)] = Field(
        json_schema_extra=OnChange.NEW_OBJECTS, description="Name of the experiment, and start of all names."
    )
    owner: NonEmpty | None = added_later(
        json_schema_extra=OnChange.NO_OBJECT,
        description="Name or e-mail address. Empty: unknown.",
    )
    backend: BackendName | None = Field(
        default=None, description="Operator that runs the job. Empty: the environment's."
    )
    runtime: Runtime | None = Field(
        default=None,
        description="Existing runtime to run on (docs/reference/backends.md). Empty: one for each revision.",
    )
    image: Image = Field(description="Container image; pin it by digest for repeatable runs.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When nodes pull the image."
    )
    image_pull_secrets: list[Subdomain] = Field(
        default=[], description="Registry secrets, in addition to the environment's."
    )
    launcher: Launcher = Field(
        examples=[{"torchrun": {"script": "/app/train.py"}}], description="What starts the processes on ranked pods."
    )
    roles: Annotated[dict[Label, Role], AfterValidator(_some_ranked)] = Field(
        min_length=1,
        max_length=defaults.MOST_ROLES,
        examples=[{"worker": {"replicas": 2, "accelerators": {"a800": 8}}}],
        description="Role groups by name, in order of rank: rank 0 is the first pod of the first ranked role. At "
        "most 64.",
    )
    network: Network = Field(
        default=Network.model_construct(),
        json_schema_extra=OnChange.BY_PART,
        description="How the pods reach each other. Empty: over the pod network.",
    )
    storage: dict[Label, Volume] = Field(default={}, json_schema_extra=OnChange.BY_PART, description="Volumes by name.")
    files: dict[FilePath, File] = added_later(
        {},
        examples=[{"/workload/launch.sh": {"file": "scripts/launch.sh"}}],
        description="Files in all containers, by their absolute paths, read-only and executable; at most 1 MiB "
        "together. Other files of their folders stay visible.",
    )
    prepare: list[Step] = Field(
        default=[], description="Steps before the containers start, ahead of the roles' `init`."
    )
    ssh: Ssh | None = Field(default=None, description="SSH between the pods. Empty: only where the launcher needs it.")
    run_as: RunAs | None = Field(default=None, description="User of all containers. Empty: the image's.")
    shared_memory: SharedMemory | None = Field(
        default=None,
        description="Size of /dev/shm, which counts as memory of the pod; `unlimited` for no size. Empty: 64 MB, often "
        "too small.",
    )
    queue: Annotated[Annotated[QueueName, Tag(TEXT)] | Annotated[OwnQueue, Tag(MAPPING)], value_shape] = Field(
        default=defaults.QUEUE, description="Name of a queue of the environment, or the fields of a new queue."
    )
    priority_class: Subdomain | None = Field(
        default=None, description="PriorityClass of the job and its pods. Empty: the cluster's default."
    )
    restart: Restart | None = Field(
        default=None,
        examples=["on-failure", {"exit_codes": [42], "ignore": "disruption"}],
        description="Reaction to a failure: never, on-failure, `3 times` or all-when-evicted, or rules for exit codes "
        "and disruptions (docs/explanation/failure.md). Empty: never, on-failure for an elastic job.",
    )
    max_retry: int = Field(
        default=defaults.MAX_RETRY,
        ge=1,
        le=2**31 - 1,
        description="Fail at the Nth restart of the job, or of an evicted pod (3 allows two restarts).",
    )
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies, each instead of the default for its event; [] removes the defaults. "
        "Empty: the defaults (docs/explanation/failure.md).",
    )
    max_run_time: RunTime | None = added_later(
        description="Longest time of the run, after which the job fails. It counts for the job with its wait for "
        "nodes, or for each pod, anew after a restart (docs/reference/backends.md). Empty: no limit."
    )
    clean_pods: Literal["none", "running", "all"] = added_later(
        "running",
        description="Pods that are deleted when the job has ended: those that still run, or all, with their logs; with "
        "`none` they run on, with their accelerators.",
    )
    ttl: Duration | None = Field(
        default=None,
        json_schema_extra=OnChange.IN_PLACE_BY_BACKEND,
        description="Delete the finished job after this time. After a `pulumi refresh` the next `up` runs it "
        "again. Empty: never.",
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
        default={}, json_schema_extra=OnChange.IN_PLACE, description="Labels of the job object, not of its pods."
    )
    annotations: dict[LabelKey, Text] = Field(
        default={}, json_schema_extra=OnChange.IN_PLACE, description="Annotations of the job object, not of its pods."
    )
    waivers: list[Waiver] = Field(
        default=[],
        json_schema_extra=OnChange.NO_OBJECT,
        description="Findings that are accepted, where the environment allows it.",
    )
    manifest_overrides: dict[str, Patch] = Field(
        default={},
        json_schema_extra=OnChange.IN_PLACE_BY_PATCH,
        description="Merge patches (RFC 7386) on rendered objects, by the keys of `trainform plan`: job, service,"
        " launch-script, files, queue, claim-NAME.",
    )

    environments: dict[Label, Overlay] = Field(
        default={},
        max_length=defaults.MOST_OVERLAYS,
        examples=[{"prod": {"roles": {"worker": {"replicas": 16}}, "queue": "research"}}],
        json_schema_extra=OnChange.IN_PLACE_BY_PATCH,
        description="Merge patches (RFC 7386) on this file, by environment; items with names may be a mapping by name.",
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
