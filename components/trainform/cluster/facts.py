"""Facts of a live cluster about the objects of a preview, as plain data. `live` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform import defaults
from trainform.cluster.phases import Phase, PodState
from trainform.errors import list_names

if TYPE_CHECKING:
    from trainform.cluster.live_drift import Drift


class LiveJob(Struct, frozen=True):
    """A job object. started: the time of its first running pod in RFC 3339, "" if none runs. pods: how many by
    state."""

    name: str
    phase: Phase
    started: str
    pods: Mapping[PodState, int]


class LiveQueue(Struct, frozen=True):
    """A Volcano queue: what it may hold, and what is held. holders: the jobs (NAMESPACE/NAME) that hold something, with
    the resources of their pods. firm: those of them whose pods must not be evicted."""

    name: str
    weight: int
    capability: Mapping[str, str]
    deserved: Mapping[str, str]
    holders: Mapping[str, Mapping[str, str]]
    reclaimable: bool = True
    parent: str = defaults.ROOT_QUEUE
    firm: frozenset[str] = frozenset()
    guarantee: Mapping[str, str] = {}


class LiveNode(Struct, frozen=True):
    """A node. holders: by job (NAMESPACE/NAME) what its pods here ask for; pods that belong to the node and never end
    are in `requested` alone. open: False for a cordoned node."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    holders: Mapping[str, Mapping[str, str]] = {}
    open: bool = True


class LiveQuota(Struct, frozen=True):
    """A ResourceQuota: amounts under its own names (`requests.cpu`). scoped: it counts only some pods. holders: by job
    what its pods in the namespace ask for; None if that is not known."""

    namespace: str
    name: str
    hard: Mapping[str, str]
    scoped: bool = False
    holders: Mapping[str, Mapping[str, str]] | None = None


class LiveClusterQueue(Struct, frozen=True):
    """A ClusterQueue of Kueue's. nested: its cohort has more than its queues, or a parent. holders: by job what is
    reserved for it. stopped: the policy by which it admits nothing (`Hold`); "" if it admits."""

    name: str
    nominal: Mapping[str, str]
    cohort: str = ""
    nested: bool = False
    holders: Mapping[str, Mapping[str, str]] = {}
    stopped: str = ""


class LiveKueue(Struct, frozen=True):
    """The queues of Kueue. local_queues: NAMESPACE/NAME to ClusterQueue. stopped: NAMESPACE/NAME to the stop policy.
    jobs: the UIDs of jobs that hold something to NAMESPACE/NAME."""

    local_queues: Mapping[str, str]
    cluster_queues: tuple[LiveClusterQueue, ...]
    stopped: Mapping[str, str] = {}
    jobs: Mapping[str, str] = {}


class Holder(Struct, frozen=True):
    """A job that holds what another one waits for. job: NAMESPACE/NAME. queue: "" for none."""

    job: str
    amount: str
    queue: str = ""
    priority: int | None = None

    @property
    def text(self) -> str:
        """Return it in words: `ai/bert-77aa01: 8 (queue night, priority 100)`."""
        facts = [f"queue {self.queue}"] if self.queue else []
        facts += [] if self.priority is None else [f"priority {self.priority}"]
        return f"{self.job}: {self.amount}{f' ({list_names(facts)})' if facts else ''}"


NO_HOLDERS = "what other jobs hold"
"""The entry of `LiveFacts.not_read` for unknown holders."""
OBJECTS = "objects"
"""The entry for single objects."""


class LiveFacts(Struct, frozen=True):
    """The facts of a review. read_at: when jobs and objects were read (RFC 3339). not_read: each missing fact, with the
    reason. A list that is None was not read."""

    read_at: str
    jobs: tuple[LiveJob, ...] | None = None
    queues: tuple[LiveQueue, ...] | None = None
    nodes: tuple[LiveNode, ...] | None = None
    drift: tuple[Drift, ...] | None = None
    missing: tuple[str, ...] = ()
    """Objects in the state that the cluster does not have: Kind/NAME."""
    not_read: Mapping[str, str] = {}
    quotas: Mapping[str, tuple[LiveQuota, ...]] = {}
    """By namespace; a namespace without an entry was not read."""
    kueue: LiveKueue = LiveKueue({}, ())
    priorities: Mapping[str, int] = {}
    """The priority of the pods that hold something, by job (NAMESPACE/NAME)."""
    waiting: Mapping[str, Mapping[str, str]] = {}
    """The requests of each job's pods that have no node yet, by job (NAMESPACE/NAME)."""
    deployed: frozenset[str] | None = None
    """PROJECT/STACK of what is deployed in the environment whose own stack is reviewed; None if it was not read."""
