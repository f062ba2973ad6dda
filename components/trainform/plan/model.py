"""The plan: all names and all decisions for a job, before manifests are rendered. Its size grows with the roles; it
grows with the replicas only if each has its own ports or its own Service, and in the hostfile."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.plan.operator import Naming, Operator
from trainform.plan.record import Record
from trainform.plan.volumes import ClaimPlan, Mount, MountedFile
from trainform.spec.environment import HourlyCost
from trainform.spec.network import RunAs
from trainform.spec.prepare import GitCheckout
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.roles import EnvSource, InitContainer, NodeAffinity, Policy, RestartRule, Toleration


class Totals(Struct, frozen=True):
    """Sums over all pods of a job. cpu (cores) and memory (bytes) are quantities; empty if a role requests none.
    cost_per_hour: None unless every accelerator in use has a price, all in one currency."""

    pods: int
    accelerators: dict[str, int]
    cpu: str
    memory: str
    cost_per_hour: HourlyCost | None


class EnvVar(Struct, frozen=True):
    """One variable of a role's containers. `origin`: where the value comes from, a field path of the user's file or the
    launcher. `instead`: the other value of the plan that the user's replaces; empty if there is none."""

    name: str
    value: str | EnvSource
    origin: str
    instead: str = ""


class Port(Struct, frozen=True):
    """A port on which a role listens; `host`: it is a port of the node."""

    name: str
    number: int
    host: bool


class Host(Struct, frozen=True):
    """One node of the world as the hostfile names it; `slots`: training processes on it."""

    address: str
    slots: int


class QueuePlan(Struct, frozen=True):
    """The queue of the job. name: empty without admission. request: None if another stack owns the queue."""

    name: str
    request: QueueRequest | None
    amounts: dict[str, dict[str, str]] = {}


class World(Struct, frozen=True):
    """The training world. nodes: ranked pods (Volcano's and PyTorch's WORLD_SIZE). processes: of all of them together
    (accelerate's --num_processes). In an elastic job both are the current numbers, and `bounds` are the least and the
    most nodes."""

    nodes: int
    processes: int
    bounds: tuple[int, int] | None


class Rendezvous(Struct, frozen=True):
    """The rendezvous of the processes: a headless Service that publishes every pod as `<pod>.<service>`, and rank 0's
    address and port, both for its peers and for itself (they differ if rank 0 has its own Service)."""

    service: str
    address: str
    port: int
    own_address: str
    own_port: int


class SshPlan(Struct, frozen=True):
    """The SSH identity of the job. `secret` has the files that are mounted in `folder`; `made`: trainform creates it.

    `port` is for every host that no pattern of `ports` matches (patterns of host names; the first match counts)."""

    secret: str
    made: bool
    rotation: int
    folder: str
    port: int
    ports: tuple[tuple[str, int], ...]
    roles: tuple[str, ...]


class ReplicaService(Struct, frozen=True):
    """A Service for one replica; `ports`: the purpose, the constant port of the Service, and the port of the pod."""

    name: str
    role: str
    index: int
    ports: tuple[tuple[str, int, int], ...]


class Checkout(Struct, frozen=True):
    """A commit of a git repository in a volume of the pod, made by the init container `step`."""

    step: str
    git: GitCheckout
    volume: str


class RuntimePlan(Struct, frozen=True):
    """An existing runtime of Kubeflow Trainer. `content`: the object, None if only the cluster has it."""

    kind: str
    name: str
    content: dict[str, Any] | None


class Group(Struct, frozen=True):
    """Pods of a role that share one template: all pods, or one pod if each replica has its own ports.

    `index`: the index of that replica; None if the pods read theirs at run time."""

    name: str
    replicas: int
    min_available: int
    index: int | None
    ports: tuple[Port, ...]


class RolePlan(Struct, frozen=True):
    """One role. `group`: the operator's name for it, which is part of the names of its pods.

    `rank_offset`: the rank of the first pod; None if the plan assigns none: an unranked role has none, and in an
    elastic job torchrun assigns them. `command`: empty for the image's own ENTRYPOINT. `ports`: one set for all
    replicas, or one for each (`per_replica`). `launched`: the launcher starts the pods. `stays`: a pod that succeeds
    keeps running until the job ends. `counted`: the job ends when as many pods have succeeded as the role has.
    `prepared`: the steps of `prepare` with which `init` begins. `in_first_pod`: those of them that a script leaves out
    in other pods of the role. `restart`: the pods' own policy. `restart_path`: the field that sets it. `resources`:
    what each pod requests. `limits`: the most that it can use of some of them. `restarts_job`: a failed or evicted pod
    restarts the whole job. `limited`: the role's own `restart` limits how often its containers start. `written`: the
    role of the file, of which it may be the first pod alone (`plan.split_launcher`).
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
    working_dir: str | None
    grace_seconds: int | None
    env: tuple[EnvVar, ...]
    resources: dict[str, str]
    limits: dict[str, str]
    accelerators: tuple[str, int] | None
    capabilities: tuple[str, ...]
    shared_memory: str | None
    ports: tuple[tuple[Port, ...], ...]
    per_replica: bool
    mounts: tuple[Mount, ...]
    prepared: tuple[int, ...]
    checkouts: tuple[Checkout, ...]
    in_first_pod: tuple[str, ...]
    init: tuple[InitContainer, ...]
    ssh: bool
    launched: bool
    stays: bool
    counted: bool
    restart: str
    restarts_job: bool
    limited: bool
    restart_rule: RestartRule | None
    restart_path: str
    max_retry: int
    policies: tuple[Policy, ...]
    node_selector: dict[str, str]
    node_affinity: NodeAffinity | None
    tolerations: tuple[Toleration, ...]
    labels: dict[str, str]
    annotations: dict[str, str]
    overrides: dict[str, Any]
    written: str

    @property
    def scripted(self) -> bool:
        """Return True if a launch script starts the pods."""
        return self.launched and bool(self.command)

    @property
    def reports(self) -> bool:
        """Return True if a script is process 1 of the containers, which writes why they failed."""
        return self.scripted or self.stays

    def rank(self, index: int) -> int | None:
        """Return the rank of the pod with this index; None if the plan assigns no ranks to the role."""
        return None if self.rank_offset is None else self.rank_offset + index

    def init_path(self, index: int) -> str:
        """Return the field that defines the init container with this index; steps of `prepare` come first."""
        steps = len(self.prepared)
        return f"prepare[{self.prepared[index]}]" if index < steps else f"roles.{self.written}.init[{index - steps}]"

    def groups(self) -> Iterator[Group]:
        """Yield the groups of pods that share a template."""
        if not self.per_replica:
            yield Group(self.group, self.replicas, self.min_available, None, self.ports[0])
            return
        for index, ports in enumerate(self.ports):
            yield Group(group_name(self.group, index), 1, int(index < self.min_available), index, ports)


class Pod(Struct, frozen=True):
    """One pod, with the name that the operator gives it."""

    name: str
    role: str
    index: int
    rank: int | None
    address: str


class Ending(Struct, frozen=True):
    """Pods whose success ends the job while others still run. `pods`: a text that names them. `roles`: the roles of
    which each one's success alone is enough."""

    pods: str
    roles: tuple[str, ...]


class Plan(Struct, frozen=True, dict=True):
    """One experiment in one environment, ready to be rendered. `job` is the name of the job object and contains the
    revision.

    `files`: the files that launched pods mount, by name. `launches`: the role whose pod starts all processes over SSH,
    which assigns the ranks then; None if every pod starts its own. `ending_role`: the role whose success should end the
    job; None if every pod ends by itself. `ends_with`: what ends the rendered job while other pods still run.
    `changes`: what a change of each field that the experiment sets does (`spec.metadata.OnChange`), by path.
    `restricted`: the containers ask for what the Pod Security level `restricted` wants. `record`: what is deployed with
    it; None in a draft, and if no ConfigMap has room for it."""

    experiment: str
    environment: str
    context: str | None
    backend: str
    operator: Operator
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
    mounted_files: tuple[MountedFile, ...]
    run_as: RunAs | None
    restricted: bool
    host_network: bool
    topology: dict[str, Any] | None
    priority_class: str | None
    workload_priority: str | None
    service_account: str | None
    image_pull_policy: str
    image_pull_secrets: tuple[str, ...]
    max_retry: int
    policies: tuple[Policy, ...]
    max_run_seconds: int | None
    clean_pods: str
    ttl_seconds: int | None
    labels: dict[str, str]
    annotations: dict[str, str]
    manifest_overrides: dict[str, dict[str, Any]]
    totals: Totals
    notes: tuple[str, ...]
    changes: dict[str, str]
    record: Record | None = None
    images: dict[str, str] = {}  # with another name here, each with that name

    @property
    def job(self) -> str:
        """Return the name of the job object."""
        return job_name(self.experiment, self.revision)

    @property
    def launch_files(self) -> str:
        """Return the name of the ConfigMap with the launch files. It contains the revision, so a running job never
        reads the files of the next one."""
        return launch_files_name(self.job)

    @property
    def user_files(self) -> str:
        """Return the name of the ConfigMap with the user's files, which contains the revision too."""
        return f"{self.job}-files"

    @property
    def min_available(self) -> int:
        """Return the number of pods that must be scheduled together before any starts."""
        return sum(role.min_available for role in self.roles)

    @functools.cached_property
    def by_name(self) -> dict[str, RolePlan]:
        """Return the roles by their names."""
        return {role.name: role for role in self.roles}

    def role_path(self, name: str) -> str:
        """Return the path of a role in the file."""
        return f"roles.{self.by_name[name].written if name in self.by_name else name}"

    @property
    def ranked(self) -> tuple[RolePlan, ...]:
        """Return the roles that form the world, in order of rank."""
        return tuple(role for role in self.roles if role.ranked)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Return the field paths of the user's merge patches, which change the rendered objects."""
        roles = [f"roles.{role.written}.pod_overrides" for role in self.roles if role.overrides]
        return (*dict.fromkeys(roles), *(f"manifest_overrides.{key}" for key in self.manifest_overrides))

    def pods(self) -> Iterator[Pod]:
        """Yield every pod, in order of roles and indices."""
        return (pod for role in self.roles for pod in self.pods_of(role))

    def pods_of(self, role: RolePlan) -> Iterator[Pod]:
        """Yield the pods of the role, in order of indices."""
        index = 0
        for group in role.groups():
            for number in range(group.replicas):
                name = self.naming.pod_name(self.job, group.name, number)
                address = self.naming.address_of(name, self.rendezvous.service, self.job)
                yield Pod(name, role.name, index, role.rank(index), address)
                index += 1


def job_name(experiment: str, revision: str) -> str:
    """Return the name of the job object: `sdxl-lora-1f3a9c`."""
    return f"{experiment}-{revision}"


def launch_files_name(job: str) -> str:
    """Return the name of the ConfigMap with the launch files of a job object."""
    return f"{job}-launch"


def group_name(role: str, index: int) -> str:
    """Return the group of a replica with its own template: `worker-2`."""
    return f"{role}-{index}"
