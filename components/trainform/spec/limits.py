"""Limits that the platform team sets for experiments, and waivers: findings that are accepted for a time.

`trainform.rules.limits` checks rendered objects against them.
"""

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from trainform import defaults
from trainform.console.lines import strip_invisible
from trainform.spec.base_model import Model, NonEmpty, OnChange
from trainform.spec.names import (
    ABSOLUTE_PATH,
    CURRENCY,
    FINGERPRINT,
    REGISTRY,
    RULE,
    ExtendedResource,
    LabelKey,
    QueueName,
    Subdomain,
)
from trainform.spec.quantities import Duration
from trainform.spec.refusal import refusal


def _as_written(value: object) -> object:
    """Return `off` for false: YAML reads `off` without quotes as false."""
    return "off" if value is False else value


Severity = Annotated[Literal["off", "warning", "error"], BeforeValidator(_as_written)]
"""Effect of a finding: off (the rule does not run), warning (a note), or error (`check` and `up` stop)."""

PodSecurity = Literal["privileged", "baseline", "restricted"]
"""The levels of Kubernetes' Pod Security Standards."""

VolumeType = Literal[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
]
"""Volume types of Kubernetes, without `hostPath`, for which `host_paths` is the limit."""

USUAL_VOLUMES: list[VolumeType] = [
    "configMap",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
]

RuleCode = Annotated[str, StringConstraints(pattern=RULE)]


class Cost(Model, on_change=OnChange.NO_OBJECT):
    """An amount of money per hour."""

    amount: float = Field(ge=0, description="Amount for one hour.")
    currency: Annotated[str, StringConstraints(pattern=CURRENCY)] = Field(
        description="ISO 4217 code (USD); other currencies are not compared."
    )


class Limits(Model, on_change=OnChange.NO_OBJECT):
    """Limits for experiments in this environment. docs/reference/limits.md lists the rules."""

    severity: dict[RuleCode, Severity] = Field(
        default={},
        examples=[{"TF-IMG-2": "error"}],
        description="Severity of a rule by its code (docs/reference/limits.md). Empty: its default.",
    )
    waivable: dict[RuleCode, list[NonEmpty]] = Field(
        default={},
        examples=[{"TF-COST-1": ["team-lead"]}],
        description="Who may own a waiver, by the code of a limit (TF-COST-1) or of a review (TR-RESTART-1). "
        "Empty: none.",
    )
    longest_waiver: Duration = Field(
        default=defaults.LONGEST_WAIVER, description="Longest time until the last day of a waiver."
    )
    pod_security: PodSecurity = Field(
        default="baseline",
        json_schema_extra=OnChange.NEW_REVISIONS,
        description="Pod Security Standard of all pods. trainform sets what `restricted` requires, and "
        "experiments need `run_as`.",
    )
    host_network: bool = Field(default=False, description="Whether pods may use the node's network.")
    host_paths: list[Annotated[str, StringConstraints(pattern=ABSOLUTE_PATH)]] = Field(
        default=[], description="Folders of the node that pods may mount (`host_path`), with all below them."
    )
    volume_types: list[VolumeType] = Field(
        default=USUAL_VOLUMES, description="Types of volumes; `host_paths` is the limit for `hostPath`."
    )
    runtime_classes: list[Subdomain] = Field(default=[], description="Runtime classes that pods may name.")
    metadata_keys: list[LabelKey] = Field(
        default=[],
        examples=[["k8s.v1.cni.cncf.io/networks"]],
        description="Labels and annotations that are allowed in spite of TF-POD-6.",
    )
    registries: list[Annotated[str, StringConstraints(pattern=REGISTRY)]] = Field(
        default=[], description="Registries, or paths in them, that images may come from. Empty: any."
    )
    max_accelerators: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Most accelerators of one experiment. Empty: what the nodes hold."
    )
    resources: list[ExtendedResource] = Field(
        default=[],
        examples=[["smarter-devices/fuse"]],
        description="Extended resources, in addition to `accelerators` and `rdma`.",
    )
    shared_memory_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Most shared memory of a pod, as a share of its node's memory (0.5). Empty: no limit.",
    )
    max_cost_per_hour: Cost | None = Field(
        default=None,
        examples=[{"amount": 500, "currency": "USD"}],
        description="Most that one experiment may cost per hour. Empty: no limit.",
    )
    max_run_time: Duration | None = Field(
        default=None, description="Longest `max_run_time` of an experiment, which then is required. Empty: no limit."
    )
    queues: list[QueueName] | None = Field(
        default=None, description="Queues that experiments may name. Empty: all of the environment."
    )
    own_queues: bool = Field(default=True, description="Whether an experiment may create a queue.")
    max_queue_weight: int | None = Field(
        default=None, ge=1, le=65535, description="Largest `weight` of an experiment's own queue. Empty: no limit."
    )
    priority_classes: list[Subdomain] | None = Field(
        default=None,
        description="Priority classes that pods may name. Empty: those of the environment, or any but `system-…`.",
    )
    service_accounts: list[Subdomain] = Field(
        default=[], examples=[["train"]], description="Service accounts of pods, in addition to `default`."
    )
    resource_claims: list[Subdomain] = Field(
        default=[], examples=[["one-gpu"]], description="ResourceClaimTemplates by which pods may claim devices."
    )
    job_managers: list[NonEmpty] = Field(
        default=[],
        examples=[["kueue.x-k8s.io/multikueue"]],
        description="Controllers that a job may name in `managedBy`, in addition to its operator.",
    )
    cache_backends: bool = Field(
        default=False, description="Whether a patch may set a `cacheBackend`, whose pods no limit counts."
    )
    tolerations: list[LabelKey] | None = Field(
        default=None,
        examples=[["spot"]],
        description="Keys of taints, in addition to the environment's. Empty: any, but not all at once.",
    )
    service_types: list[Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]] = Field(
        default=["ClusterIP"], description="Types of Services; external addresses need LoadBalancer."
    )


def _written(reason: str) -> str:
    """Return the reason. Refuses the ellipsis of the waiver that `trainform check` offers, and invisible text."""
    if not strip_invisible(reason).strip(" .…"):
        raise refusal("the waiver gives no reason", "write why the finding is accepted")
    return reason


class Waiver(Model, on_change=OnChange.NO_OBJECT):
    """One finding that is accepted. It ends when the finding changes, or after its last day."""

    rule: RuleCode = Field(description="Code of the rule, which the environment's `limits.waivable` names.")
    finding: Annotated[str, StringConstraints(pattern=FINGERPRINT)] = Field(
        description="Fingerprint of the finding, from `trainform check` or `trainform review`."
    )
    reason: Annotated[NonEmpty, AfterValidator(_written)] = Field(description="Why the finding is accepted.")
    owner: NonEmpty = Field(description="Owner of the waiver, whom `limits.waivable` names for the rule.")
    until: datetime.date = Field(description="Last day on which it holds (2026-12-31).")
