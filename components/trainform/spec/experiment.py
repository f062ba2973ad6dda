"""What a researcher writes: one training job, whatever cluster it runs on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Tag, ValidationInfo, field_validator

from trainform.catalog import defaults
from trainform.spec.launchers import Launcher
from trainform.spec.model import MAPPING, TEXT, Model, Patch, Text, by_shape
from trainform.spec.names import BackendName, Image, Label, LabelKey, LabelValue, QueueName, ServiceLabel, Subdomain
from trainform.spec.network import Network
from trainform.spec.prepare import Step
from trainform.spec.quantities import Bytes, Duration
from trainform.spec.queues import OwnQueue
from trainform.spec.roles import Env, Policy, Restart, Role, Toleration
from trainform.spec.runtime import Runtime
from trainform.spec.ssh import RunAs, Ssh
from trainform.spec.storage import Volume


def _some_ranked(roles: dict[str, Role]) -> dict[str, Role]:
    if not any(role.ranked for role in roles.values()):
        raise ValueError(
            "have no ranked one, so there is no world to form|leave `ranked` out, or set it true, on one role"
        )
    return roles


class Experiment(Model):
    """One training job. Reads like a table of contents: each part has a module of its own."""

    name: Annotated[ServiceLabel, Field(max_length=56)] = Field(
        description="Name of the experiment and stem of all names; a DNS label that starts with a letter. A change makes new objects."
    )
    backend: BackendName | None = Field(
        default=None, description="Operator that runs the job. Empty: the environment's. A change makes a new job."
    )
    runtime: Runtime | None = Field(
        default=None,
        description="An existing runtime of Kubeflow Trainer's to run on (backend trainer). Empty: one is made for each revision.",
    )
    image: Image = Field(
        description="Container image; pin it by digest for repeatable runs. A change makes a new revision."
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent",
        description="When nodes pull the image. Default IfNotPresent. A change makes a new revision.",
    )
    image_pull_secrets: list[Subdomain] = Field(
        default=[], description="Secrets of the namespace for the registry, beside those of the environment. Default none. A change makes a new revision."
    )  # fmt: skip
    launcher: Launcher = Field(
        examples=[{"torchrun": {"script": "/app/train.py"}}],
        description="What starts the processes on ranked pods. A change makes a new revision.",
    )
    roles: Annotated[dict[Label, Role], AfterValidator(_some_ranked)] = Field(
        min_length=1,
        examples=[{"worker": {"replicas": 2, "accelerators": {"a800": 8}}}],
        description="Role groups by name, in order of rank: rank 0 is the first pod of the first ranked role.",
    )
    network: Network = Field(default=Network(), description="How the pods reach each other. Default: the pod network.")
    storage: dict[Label, Volume] = Field(default={}, description="Volumes by name. Default none.")
    prepare: list[Step] = Field(
        default=[],
        description="Steps before the containers start, in order, ahead of the roles' own `init`. Default none.",
    )
    ssh: Ssh | None = Field(
        default=None, description="SSH between the pods. Empty: only where the launcher needs it (deepspeed, mpi)."
    )
    run_as: RunAs | None = Field(
        default=None, description="User of all containers. Empty: the image's. A change makes a new revision."
    )
    shared_memory: Bytes | None = Field(
        default=None,
        description="Size limit of a memory volume at /dev/shm, in bytes (20G); it counts as memory of the pod. Empty: the runtime's "
        "64 MB, too small for PyTorch data loaders with workers. A change makes a new revision.",
    )
    queue: Annotated[Annotated[QueueName, Tag(TEXT)] | Annotated[OwnQueue, Tag(MAPPING)], by_shape] = Field(
        default=defaults.QUEUE,
        description="Name of a queue of the environment, or the fields of an own one. Default: the queue `default`. A change of the name makes a new revision.",
    )
    priority_class: Subdomain | None = Field(
        default=None,
        description="PriorityClass of the job and its pods. Empty: the cluster's default. A change makes a new revision.",
    )
    restart: Restart | None = Field(
        default=None,
        description="What follows a failure of a pod: never (it ends the job), on-failure (a failed container is started again on its node; at "
        "`max_retry` of the role the job ends), `3 times` (the same, at most three times over the role), all-when-evicted (a ranked pod that fails or "
        "is evicted, by a drain or preemption, starts the whole job anew, at most its `max_retry` times). Empty: never, on-failure for an elastic "
        "job. A change makes a new revision.",
    )
    max_retry: int = Field(
        default=defaults.MAX_RETRY, ge=1, le=2**31 - 1,
        description="How often the job may be restarted before it fails: as a whole, or, on Volcano under on-failure and `3 times`, a pod of it that was evicted. Default 3, as in Volcano. A change makes a new revision.",
    )  # fmt: skip
    policies: list[Policy] | None = Field(
        default=None,
        description="Lifecycle policies of the job, for all roles that have none for the same event. One for an event takes the place of the "
        "default for that event, `*` of all of them; other defaults stay. Empty: the defaults, by which in a static job the first failure of a "
        "ranked pod ends the job and frees its accelerators (`restart` says what else may follow), and where other pods would run on, the success "
        "of the role that `trainform plan` names ends it too. []: no defaults. A change makes a new revision.",
    )
    ttl: Duration | None = Field(
        default=None,
        description="Delete the finished job after this time (12h). Empty: never; a job that is gone looks like drift and the next `up` "
        "trains again. A change makes a new revision.",
    )
    service_account: Subdomain | None = Field(
        default=None,
        description="ServiceAccount of the pods. Empty: the namespace's default. A change makes a new revision.",
    )
    env: Env = Field(
        default={},
        examples=[{"NCCL_DEBUG": "INFO"}],
        description="Variables of every pod; they win over what the launcher computes. Default none. A change makes a new revision.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={},
        description="Labels that all nodes of the job must have. Default none. A change makes a new revision.",
    )
    tolerations: list[Toleration] = Field(
        default=[], description="Taints that all pods may ignore. Default none. A change makes a new revision."
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default={},
        description="Labels of the job object; those of pods belong to the roles. Default none. Updates in place.",
    )
    annotations: dict[LabelKey, Text] = Field(
        default={},
        description="Annotations of the job object; those of pods belong to the roles. Default none. Updates in place.",
    )
    manifest_overrides: dict[str, Patch] = Field(
        default={},
        description="Merge patches (RFC 7386) on rendered objects, by the key that `trainform plan` shows (job, service, launch-script, "
        "queue, claim-NAME), for what has no field here. Shown in the plan. Default none. What it changes decides between update and revision.",
    )

    @field_validator("ssh")
    @classmethod
    def _ssh_of_the_runtime(cls, ssh: Ssh | None, info: ValidationInfo) -> Ssh | None:
        if ssh is not None and info.data.get("runtime") is not None:
            raise ValueError(
                "stands beside `runtime`, whose pods have an SSH of their own or none|remove one of the two"
            )
        return ssh

    @property
    def elastic(self) -> bool:
        """Whether ranked replicas may change while the job runs."""
        return self.launcher.elastic is not None
