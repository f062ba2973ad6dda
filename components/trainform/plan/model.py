"""The plan: everything that is named or chosen, before any manifest is written. Lengths grow with roles; with replicas only where each has
ports or a Service of its own, and in the hostfile."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from trainform.spec.prepare import GitCheckout
from trainform.spec.queues import QueueRequest
from trainform.spec.roles import EnvSource, InitContainer, Policy, Toleration
from trainform.spec.ssh import RunAs
from trainform.spec.storage import ClaimRequest


@dataclasses.dataclass(frozen=True)
class EnvVar:
    """One variable of a role's containers. `origin` says how the value came about: a field path of the user's file or the launcher."""

    name: str
    value: str | EnvSource
    origin: str


@dataclasses.dataclass(frozen=True)
class Port:
    """A port that a role listens on; `host` means that it is taken on the node."""

    name: str
    number: int
    host: bool


@dataclasses.dataclass(frozen=True)
class Host:
    """One node of the world as the hostfile names it; `slots`: training processes on it."""

    address: str
    slots: int


@dataclasses.dataclass(frozen=True)
class Mount:
    """A claim in a role's containers; `volume` is the user's name for it."""

    volume: str
    claim: str
    path: str
    sub_path: str | None
    read_only: bool


@dataclasses.dataclass(frozen=True)
class ClaimPlan:
    """A claim that is made here. `storage_class` is its name in the cluster, None the cluster's default."""

    key: str
    name: str
    request: ClaimRequest
    storage_class: str | None


@dataclasses.dataclass(frozen=True)
class QueuePlan:
    """The queue of the job; `request` is None where it belongs to somebody else. of_environment: whether the environment's stack makes it."""

    name: str
    request: QueueRequest | None
    amounts: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    of_environment: bool = False


@dataclasses.dataclass(frozen=True)
class World:
    """The training world. nodes: ranked pods (Volcano's and PyTorch's WORLD_SIZE); processes: over all of them (accelerate's
    --num_processes). In an elastic job both are the present number, and `bounds` says what they may become."""

    nodes: int
    processes: int
    bounds: tuple[int, int] | None


@dataclasses.dataclass(frozen=True)
class Rendezvous:
    """Where the processes meet: a headless Service that publishes every pod as `<pod>.<service>`, and rank 0's address and port, as its
    peers call it and as it knows itself (they differ behind a Service of its own)."""

    service: str
    address: str
    port: int
    own_address: str
    own_port: int


@dataclasses.dataclass(frozen=True)
class SshPlan:
    """The SSH identity of the job. `secret` holds the files that stand in `folder`; `made` tells whether it is made here.

    `port` holds for every host but those of `ports` (patterns of host names, the first that fits)."""

    secret: str
    made: bool
    rotation: int
    folder: str
    port: int
    ports: tuple[tuple[str, int], ...]
    roles: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ReplicaService:
    """A Service for one replica: constant ports in front of those that the pod listens on, by purpose."""

    name: str
    role: str
    index: int
    ports: tuple[tuple[str, int, int], ...]


@dataclasses.dataclass(frozen=True)
class Checkout:
    """A commit of a git repository in a volume of the pod, made by the init container `step`."""

    step: str
    git: GitCheckout
    volume: str


@dataclasses.dataclass(frozen=True)
class RuntimePlan:
    """A runtime of Kubeflow Trainer's that exists already. `content`: the object, None where only the cluster has it."""

    kind: str
    name: str
    content: dict[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Agent:
    """The operator's own way to other pods in the place of SSH. program: starts a process on a pod. hostfile: the list of pods. client:
    the kubectl that the program calls; the init container `delivery` brings it."""

    program: str
    hostfile: str
    client: str
    delivery: str


@dataclasses.dataclass(frozen=True)
class Naming:
    """How the operator calls the pods of a group, and how peers call them. `own_service`: a headless Service of ours
    gives the names; else the operator makes Services of its own. `single`: groups whose only pod has no number.
    `agent`: how processes are started on other pods where that is not by SSH; such pods have no names in DNS.
    `draws_ports`: the operator chooses the ports when it makes a pod, and tells the pod; the plan has only those that
    peers call. `ends_by_number`: what several groups of pods end together ends when as many pods have succeeded as
    these groups have, whichever they are."""

    pod: str
    address: str
    own_service: bool
    single: tuple[str, ...] = ()
    agent: Agent | None = None
    draws_ports: bool = False
    ends_by_number: bool = False

    def pod_name(self, job: str, group: str, index: int) -> str:
        """What the pod's hostname is."""
        return f"{job}-{group}" if group in self.single else self.pod.format(job=job, group=group, index=index)

    def address_of(self, pod: str, service: str) -> str:
        """The name by which peers call the pod."""
        return self.address.format(pod=pod, service=service)


@dataclasses.dataclass(frozen=True)
class Group:
    """Pods of a role that share one template: all of them, or one where each replica has ports of its own.

    `index` is that replica's, None where the pods learn theirs at run time."""

    name: str
    replicas: int
    min_available: int
    index: int | None
    ports: tuple[Port, ...]


@dataclasses.dataclass(frozen=True)
class RolePlan:
    """One role group. `group`: the operator's word for it, which stands in names of pods.

    `rank_offset` is the rank of the first of them, None where the plan gives no ranks: an unranked role has none, and
    in an elastic job torchrun numbers the pods at run time. `ports`: one set for all replicas, or one for each
    (`per_replica`). `launched`: the pods start with a launch script. `stays`: a pod that succeeds stays up until the
    job ends. `counted`: the job ends when as many pods as the role has have succeeded. `prepared`: which steps of `prepare` are the first ones of `init`. `restart` is the pods' own policy;
    `restarts_job`: a failed or evicted pod starts the whole job anew.
    """

    name: str
    group: str
    replicas: int
    min_available: int
    scales_in_place: bool
    ranked: bool
    rank_offset: int | None
    image: str
    image_origin: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: tuple[EnvVar, ...]
    resources: dict[str, str]
    accelerators: tuple[str, int] | None
    capabilities: tuple[str, ...]
    shared_memory: str | None
    ports: tuple[tuple[Port, ...], ...]
    per_replica: bool
    mounts: tuple[Mount, ...]
    prepared: tuple[int, ...]
    checkouts: tuple[Checkout, ...]
    init: tuple[InitContainer, ...]
    ssh: bool
    launched: bool
    stays: bool
    counted: bool
    restart: str
    restarts_job: bool
    max_retry: int
    policies: tuple[Policy, ...]
    node_selector: dict[str, str]
    tolerations: tuple[Toleration, ...]
    labels: dict[str, str]
    annotations: dict[str, str]
    overrides: dict[str, Any]

    def rank(self, index: int) -> int | None:
        """Rank of the pod with this index, None where the plan gives none."""
        return None if self.rank_offset is None else self.rank_offset + index

    def init_path(self, index: int) -> str:
        """The field from which the init container with this index came; steps of `prepare` are the first ones."""
        steps = len(self.prepared)
        return f"prepare[{self.prepared[index]}]" if index < steps else f"roles.{self.name}.init[{index - steps}]"

    def groups(self) -> Iterator[Group]:
        """The pods by template."""
        if not self.per_replica:
            yield Group(self.group, self.replicas, self.min_available, None, self.ports[0])
            return
        for index, ports in enumerate(self.ports):
            yield Group(group_name(self.group, index), 1, int(index < self.min_available), index, ports)


@dataclasses.dataclass(frozen=True)
class Totals:
    """What the whole job takes. cpu in cores and memory in bytes, as quantities; empty where a role has no limit."""

    pods: int
    accelerators: dict[str, int]
    cpu: str
    memory: str
    cost_per_hour: str


@dataclasses.dataclass(frozen=True)
class Pod:
    """One pod as the backend will name it."""

    name: str
    role: str
    index: int
    rank: int | None
    address: str


@dataclasses.dataclass(frozen=True)
class Ending:
    """Pods whose success ends the job while others still run. `pods`: which ones, in words. `roles`: those of which
    each one's success is enough by itself."""

    pods: str
    roles: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Plan:
    """One experiment in one environment, ready to be rendered. `job` is the name of the job object and contains the
    revision.

    `files` are mounted in launched pods, by name. `launches`: the role whose pod starts the processes of all over SSH,
    which then give out the ranks; None: every pod starts its own. `ending_role`: the role whose success is to end the
    job; None: every pod ends by itself. `ends_with`: what does end it while other pods still run, as the rendered
    objects have it."""

    experiment: str
    environment: str
    context: str | None
    backend: str
    naming: Naming
    runtime: RuntimePlan | None
    admission: str
    run: int
    revision: str
    namespace: str
    launcher: str
    roles: tuple[RolePlan, ...]
    world: World
    rendezvous: Rendezvous
    ssh: SshPlan | None
    hosts: tuple[Host, ...]
    services: tuple[ReplicaService, ...]
    files: dict[str, str]
    launches: str | None
    ending_role: str | None
    ends_with: tuple[Ending, ...]
    queue: QueuePlan
    claims: tuple[ClaimPlan, ...]
    run_as: RunAs | None
    host_network: bool
    topology: dict[str, Any] | None
    priority_class: str | None
    service_account: str | None
    image_pull_policy: str
    image_pull_secrets: tuple[str, ...]
    max_retry: int
    policies: tuple[Policy, ...]
    ttl_seconds: int | None
    labels: dict[str, str]
    annotations: dict[str, str]
    manifest_overrides: dict[str, dict[str, Any]]
    totals: Totals
    notes: tuple[str, ...]

    @property
    def job(self) -> str:
        """Name of the job object."""
        return job_name(self.experiment, self.revision)

    @property
    def launch_files(self) -> str:
        """Name of the ConfigMap with the launch files; it follows the revision, so a running job never sees the next one's."""
        return f"{self.job}-launch"

    @property
    def min_available(self) -> int:
        """Pods that must be placed together before any starts."""
        return sum(role.min_available for role in self.roles)

    @functools.cached_property
    def by_name(self) -> dict[str, RolePlan]:
        """The roles by their names."""
        return {role.name: role for role in self.roles}

    @property
    def ranked(self) -> tuple[RolePlan, ...]:
        """The roles that form the world, in order of rank."""
        return tuple(role for role in self.roles if role.ranked)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Where merge patches of the user change what was rendered: field paths of the experiment."""
        roles = [f"roles.{role.name}.pod_overrides" for role in self.roles if role.overrides]
        return (*roles, *(f"manifest_overrides.{key}" for key in self.manifest_overrides))

    def pods(self) -> Iterator[Pod]:
        """Every pod, in order of roles and indices."""
        return (pod for role in self.roles for pod in self.pods_of(role))

    def pods_of(self, role: RolePlan) -> Iterator[Pod]:
        """The pods of the role, in order of indices."""
        index = 0
        for group in role.groups():
            for number in range(group.replicas):
                name = self.naming.pod_name(self.job, group.name, number)
                address = self.naming.address_of(name, self.rendezvous.service)
                yield Pod(name, role.name, index, role.rank(index), address)
                index += 1


def job_name(experiment: str, revision: str) -> str:
    """`sdxl-lora-1f3a9c`."""
    return f"{experiment}-{revision}"


def group_name(role: str, index: int) -> str:
    """`worker-2`: a replica with a template of its own."""
    return f"{role}-{index}"
