"""The status of a job as plain data: `trainform.status` returns it, and `status --output json` has these fields."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from trainform.cluster.facts import Holder
from trainform.cluster.phases import Phase, PodState


class Fault(StrEnum):
    """The side at fault for a failure."""

    WORKLOAD = "workload"
    PLATFORM = "platform"
    QUEUE = "queue"
    USER = "user"


class Cause(StrEnum):
    """Why a container ended."""

    OOM = "oom"
    EXCEPTION = "exception"
    SIGNAL = "signal"  # any signal except SIGTERM
    EXIT = "exit"
    NOT_STARTED = "not started"  # its command does not exist, or the node refused the pod
    EVICTED = "evicted"
    NODE_LOST = "node lost"
    DEADLINE = "deadline"
    COMMUNICATION = "communication"  # NCCL, gloo or a connection: another rank may have ended before
    TERMINATED = "terminated"  # SIGTERM


class End(Struct, frozen=True):
    """The end of a container. fault, exit_code, signal: None if unknown. message: its termination message, masked,
    which is the first traceback or the last lines; "" if it left none. at: RFC 3339. container: a step of `prepare` or
    a sidecar; "" for the main one."""

    cause: Cause
    fault: Fault | None
    exit_code: int | None
    signal: str | None
    message: str
    at: str
    container: str = ""


class PodStatus(Struct, frozen=True):
    """A pod. index: in its role. rank: None for a role without ranks, and where only the launcher knows it. reason: why
    it does not run, in the words of the kubelet or the scheduler (`ContainerCreating`). node: "" before it has one.
    started: when its node took it, before its images and steps. end: None if nothing ended with an error; also of a run
    before a restart in place."""

    name: str
    role: str
    index: int
    rank: int | None
    node: str
    state: PodState
    reason: str
    restarts: int
    created: str
    started: str
    last_output: str = ""
    """The time of its last line of output in RFC 3339; "" if it was not read."""
    end: End | None = None


class Reason(Struct, frozen=True):
    """Why a job waits.

    code: one of `waiting.CODES`. text: a part of a sentence. fix: what to do (wait, change a field, ask for something).
    object: KIND/NAME to which it belongs. never: waiting does not help. needed, free, largest: amounts of `resource`,
    largest: the most that is free on one node; "" if they do not apply.
    """

    code: str
    text: str
    fix: str
    object: str = ""
    never: bool = False
    resource: str = ""
    needed: str = ""
    free: str = ""
    largest: str = ""
    holders: tuple[Holder, ...] = ()


class Failure(Struct, frozen=True):
    """Why a job failed. pods: the first that failed, several if their clocks cannot tell; none if they were deleted.
    end: of the first of them. cascade: how many others ended after it, within `cascade_seconds`."""

    pods: tuple[str, ...]
    ranks: tuple[int, ...]
    end: End | None = None
    cascade: int = 0
    cascade_seconds: int = 0
    note: str = ""
    """A remark on what is not known, such as `missing: 1 of 2 pods, which may have failed first`."""


class Cost(Struct, frozen=True):
    """The cost since the first of the present pods started, by the prices of the environment."""

    amount: float
    currency: str


class JobStatus(Struct, frozen=True):
    """The status of a job.

    phase_from_job: the pods are gone, and the phase is that of the job object's own condition. message: one sentence on
    the phase, such as `preempted at 14:02 by ai/eval`; often "". needed, placed: pods of the gang, and those of them
    that have a node. created, started, ended: RFC 3339, "" if unknown. not_read: each missing fact with the reason.
    """

    read_at: str
    stack: str
    experiment: str
    environment: str
    namespace: str
    job: str
    revision: str
    backend: str
    admission: str
    queue: str
    phase: Phase
    phase_from_job: bool = False
    message: str = ""
    fault: Fault | None = None
    reasons: tuple[Reason, ...] = ()
    failure: Failure | None = None
    pods: tuple[PodStatus, ...] = ()
    needed: int = 0
    placed: int = 0
    restarts: int = 0
    created: str = ""
    started: str = ""
    ended: str = ""
    accelerators: Mapping[str, int] = {}
    cost: Cost | None = None
    not_read: Mapping[str, str] = {}
