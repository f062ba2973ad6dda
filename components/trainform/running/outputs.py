"""The output of containers: which are wanted, how much of each has been shown, and the times of its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct

from trainform.errors import InputError, Problem, list_names
from trainform.manifests.manifest import mapping, mappings
from trainform.running.failure import end_of, order_of
from trainform.running.pods import Choice, Place, containers_of, place_of
from trainform.running.snapshot import Body


class Stamp(NamedTuple):
    """The time of a line in UTC, and as it is written: up to nanoseconds."""

    time: datetime
    written: bytes


FIRST = Stamp(datetime.min.replace(tzinfo=UTC), b"")


class Cursor:
    """How much of a container's output has been shown. The API server gives it again from a full second on."""

    def __init__(self) -> None:
        self._last = FIRST
        self._count = 0  # of lines with this stamp
        self._again = 0  # of these, how many come again
        self._repeats = False

    def restart(self) -> None:
        """Expect the lines of the last second again."""
        self._again, self._repeats = self._count, True

    def is_new(self, stamp: Stamp | None) -> bool:
        """Return False for a line that has been shown. A clock may go back, but not while lines come again."""
        if stamp is None:
            return True
        if self._repeats and (stamp < self._last or (stamp == self._last and self._again)):
            self._again -= stamp == self._last
            return False
        self._repeats = False
        self._count = self._count + 1 if stamp == self._last else 1
        self._last = stamp
        return True

    @property
    def since(self) -> str:
        """Return the second of the last line as the API server reads it; "" before the first line."""
        return f"{self._last.time:%Y-%m-%dT%H:%M:%SZ}" if self._count else ""


def split_stamp(line: bytes) -> tuple[Stamp | None, str]:
    """Return the stamp of a line, and its text. A line without a stamp is an error of the kubelet."""
    stamp, _, text = line.partition(b" ")
    try:
        return Stamp(datetime.fromisoformat(stamp.decode()).astimezone(UTC), stamp), text.decode(errors="replace")
    except ValueError:
        return None, line.decode(errors="replace")


class Source:
    """The output of one container, and its state. run: the number of its last run, None before the first one. ended:
    that run has ended. begun, complete: the last run of which a line may be shown, and every line. previous: the run
    before the last one is read."""

    def __init__(self, pod: Body, place: Place, container: str, *, previous: bool = False) -> None:
        self.place, self.container, self.previous = place, container, previous
        metadata = pod["metadata"]
        self.uid = str(metadata["uid"])
        self.path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
        self.cursor, self.changed, self.gone, self.complete = Cursor(), asyncio.Event(), False, -1
        self.begun: int | None = None
        self.update(pod)

    def update(self, pod: Body) -> None:
        """Take over the state of the pod."""
        status = container_status(pod, self.container)
        state = mapping(status.get("state"))
        has_run = "running" in state or "terminated" in state or "terminated" in mapping(status.get("lastState"))
        self.run = int(status.get("restartCount", 0)) if has_run else None
        self.ended = "running" not in state
        self.state = str(mapping(state.get("waiting")).get("reason") or mapping(pod.get("status")).get("phase"))
        self.leaves = self.ended or "deletionTimestamp" in pod["metadata"]
        self.changed.set()

    @property
    def is_ending(self) -> bool:
        """Return True if it has ended or is about to, and its last lines are still to come."""
        return not self.gone and self.leaves and self.run is not None and self.run > self.complete


def container_status(pod: Body, name: str) -> dict[str, Any]:
    """Return the status of a container; empty before the kubelet has set one."""
    status = mapping(pod.get("status"))
    every = [*mappings(status.get("initContainerStatuses")), *mappings(status.get("containerStatuses"))]
    return next((each for each in every if each.get("name") == name), {})


def failed_at(pod: Body) -> tuple[str, bool]:
    """Return when the main container of a pod failed last, "" if it has not; and whether it was started again."""
    status = container_status(pod, containers_of(pod)[0])
    ends = [mapping(mapping(status.get(field)).get("terminated")) for field in ("state", "lastState")]
    failed = [(str(end.get("finishedAt", "")), index == 1) for index, end in enumerate(ends) if end.get("exitCode")]
    return next(iter(failed), ("", False))


def failed_pods(pods: Sequence[Body]) -> list[Body]:
    """Return the pods that have failed, the first to fail first: a cause comes before its cascade."""
    ends = [(end, pod) for pod in pods if failed_at(pod)[0] and (end := end_of(pod)) is not None]
    return [pod for _, pod in sorted(ends, key=lambda each: order_of(each[0]))]


class Selection(Struct, frozen=True):
    """The output that is wanted. ranks: `first_ranks` of the job. step: the name of a container, None for the main one.
    previous: of the run before the last restart. failed: of the last run that failed, one pod after the other. since:
    seconds. tail: lines of each container."""

    choice: Choice
    ranks: Mapping[str, int]
    step: str | None = None
    previous: bool = False
    failed: bool = False
    since: int | None = None
    tail: int | None = None

    def source(self, pod: Body) -> Source | None:
        """Return the source of a pod; None if it has none that is wanted."""
        place, names = place_of(pod, self.ranks), containers_of(pod)
        name = names[0] if self.step is None else self.step
        if not self.choice.fits(place) or name not in names:
            return None
        return Source(pod, place, name, previous=self.previous or (self.failed and failed_at(pod)[1]))

    def sources(self, pods: Sequence[Body]) -> list[Source]:
        """Return the sources of the pods. Raises `InputError` if no pod has a container of the name."""
        names = list(dict.fromkeys(name for pod in pods for name in containers_of(pod)))
        if pods and self.step not in (None, *names):
            reason = "no pod of the job has a step or a container of this name"
            raise InputError([Problem("--step", self.step, reason, f"its steps and containers: {list_names(names)}")])
        return [source for pod in (failed_pods(pods) if self.failed else pods) if (source := self.source(pod))]


def silent_pods(sources: Sequence[Source], places: Iterable[Place], *, step: bool) -> list[str]:
    """Return the pods without output, with what they wait for. places: of all that are wanted; with a step, only its
    containers count."""
    loud = {source.place for source in sources if source.run is not None}
    states = {} if step else dict.fromkeys(places, "no pod yet")
    states |= {source.place: source.state for source in sources}
    return [f"{place} ({state})" for place, state in states.items() if place not in loud]
