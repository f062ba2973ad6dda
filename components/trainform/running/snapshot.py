"""The objects of one job in its cluster, as they are read at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.backends.admission import QUEUE_LABEL
from trainform.backends.backend import value_at
from trainform.defaults import REVISION_LABEL
from trainform.manifests.manifest import mapping, mappings
from trainform.plan.record import Record
from trainform.spec.environment import Environment

Body = Mapping[str, Any]


class Target(Struct, frozen=True):
    """The job that the words of a command name. stack: as Pulumi names it; "" if no stack of the project runs it."""

    experiment: str
    environment: Environment
    stack: str = ""

    @property
    def namespace(self) -> str:
        """Return the namespace of its objects."""
        return self.environment.namespace.name


class Snapshot(Struct, frozen=True):
    """The objects of a job. Bodies are as the API server returns them.

    record: what the last successful `pulumi up` deployed; None if there is none. job: None if it is gone. pods: of the
    job's revision, also those that have ended. gang: its PodGroup, or Kueue's Workload. queue: of Volcano, or the
    LocalQueue. events: of the job, its gang and its pods, oldest first. not_read: each missing part with the reason;
    its value is empty or None. outputs: the time of the last line of output by pod, of those that were asked for it.
    """

    read_at: str
    target: Target
    record: Record | None
    job: Body | None
    pods: Sequence[Body] = ()
    gang: Body | None = None
    queue: Body | None = None
    events: Sequence[Body] = ()
    claims: Sequence[Body] = ()
    not_read: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """Return the name of the job object, or of the recorded one if it is gone; "" if both are unknown."""
        recorded = "" if self.record is None else self.record.job
        return name_of(self.job) or recorded

    @property
    def revision(self) -> str:
        """Return the revision of the job object, or of the recorded one if it is gone; "" if both are unknown."""
        recorded = "" if self.record is None else self.record.revision
        return recorded if self.job is None else self._label(REVISION_LABEL)

    @property
    def queue_name(self) -> str:
        """Return the name of the job's queue; "" if it has none."""
        return self._label(QUEUE_LABEL) if self.record is None else self.record.queue

    @property
    def admission(self) -> str:
        """Return what admits the job, of the environment as it was deployed."""
        return self.target.environment.admission if self.record is None else self.record.admission

    def _label(self, name: str) -> str:
        return str(mapping(value_at(self.job, "metadata.labels")).get(name, ""))

    def events_with(self, *reasons: str) -> list[Body]:
        """Return the events with one of these reasons, oldest first."""
        return [event for event in self.events if event.get("reason") in reasons]


def text_at(body: Any, path: str) -> str:
    """Return the text at the path; "" if there is none."""
    return str(value_at(body, path) or "")


def name_of(body: Any) -> str:
    """Return the name of an object; "" if there is none."""
    return text_at(body, "metadata.name")


def condition(body: Any, kind: str) -> Mapping[str, Any]:
    """Return the condition of this type in the status; empty if there is none."""
    return next((each for each in mappings(value_at(body, "status.conditions")) if each.get("type") == kind), {})


def container_statuses(pod: Body) -> list[dict[str, Any]]:
    """Return the statuses of its containers, in the order in which they start."""
    status = mapping(pod.get("status"))
    return [*mappings(status.get("initContainerStatuses")), *mappings(status.get("containerStatuses"))]


def event_time(event: Body) -> str:
    """Return the time at which an event was last seen (RFC 3339)."""
    series = mapping(event.get("series"))
    created = text_at(event, "metadata.creationTimestamp")
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), created)
    return next((str(time) for time in times if time), "")
