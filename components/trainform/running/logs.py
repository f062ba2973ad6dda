"""The output of a job's pods as one stream of lines: what is there, by time, and what follows.

One thread reads all containers and prints. If the terminal is slow, the connections wait, and no line is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import resource
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from trainform.cluster.phases import ENDED_PODS, pod_state
from trainform.cluster.streams import ClusterStreams
from trainform.errors import ClusterError, InputError, Problem, list_names
from trainform.manifests.manifest import mapping
from trainform.running.failure import end_of, order_of
from trainform.running.pods import Place, containers_of, place_of
from trainform.running.read import JOB, PODS, read, refuse_simulated
from trainform.running.snapshot import Body, Snapshot, Target, container_statuses
from trainform.running.status import status_of
from trainform.running.watch import OVER, after_changes

RETRY_SECONDS = 2.0
FIRST = datetime.min.replace(tzinfo=UTC)
MOST_NAMED = 8


class Source:
    """The output of one container, and its state. run: the number of its last run, None before the first one. ended:
    that run has ended. complete: the last run of which every line was shown. refused: why the last request failed."""

    def __init__(self, pod: Body, place: Place, container: str, *, previous: bool) -> None:
        metadata = pod["metadata"]
        self.place, self.container, self.previous, self.uid = place, container, previous, metadata["uid"]
        self.node = str(mapping(pod.get("spec")).get("nodeName", ""))
        self.path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
        self.changed, self.gone, self.complete, self.refused = asyncio.Event(), False, -1, ""
        self.last, self.count = FIRST, 0  # the time of its last line, and how many lines have it
        self.update(pod)

    def update(self, pod: Body | None) -> None:
        """Take over the state of the pod; None: it is gone."""
        status = _container_status(pod, self.container)
        state = mapping(status.get("state"))
        has_run = "running" in state or "terminated" in state or "terminated" in mapping(status.get("lastState"))
        self.run = int(status.get("restartCount", 0)) if has_run else None
        self.ended, self.gone = "running" not in state, pod is None
        self.changed.set()


Line = tuple[datetime, Source, str]  # its time, its container and its text


class Selection(Struct, frozen=True):
    """The output to show. places: of the pods. ranks: `first_ranks` of the job. step: the name of a container, None for
    the main one, and with `failed` that which failed. previous: of the run before the last restart. failed: of the last
    run that failed, one pod after the other. since: RFC 3339. tail: lines of each container."""

    places: Collection[Place]
    ranks: Mapping[str, int]
    step: str | None = None
    previous: bool = False
    failed: bool = False
    since: str = ""
    tail: int | None = None

    def source(self, pod: Body) -> Source | None:
        """Return the source of a pod; None if it has none in the selection."""
        place, names, end = place_of(pod, self.ranks), containers_of(pod), end_of(pod) if self.failed else None
        name = self.step or (end is not None and end.container) or names[0]
        if place not in self.places or name not in names:
            return None
        runs_again = self.failed and "terminated" not in mapping(_container_status(pod, name).get("state"))
        return Source(pod, place, name, previous=self.previous or runs_again)

    def sources(self, pods: Sequence[Body]) -> list[Source]:
        """Return the sources of the pods, with `failed` the first to fail first: a cause comes before its cascade.
        Raises `InputError` if no pod has a container of the name."""
        names = list(dict.fromkeys(name for pod in pods for name in containers_of(pod)))
        if pods and self.step not in (None, *names):
            reason = "no pod of the job has a step or a container of this name"
            raise InputError([Problem("--step", self.step, reason, f"its steps and containers: {list_names(names)}")])
        if self.failed:
            ends = ((end, pod) for pod in pods if (end := end_of(pod)) is not None)
            pods = [pod for _, pod in sorted(ends, key=lambda each: order_of(each[0]))]
        return [source for pod in pods if (source := self.source(pod)) is not None]


class Logs:
    """Reads the output of containers. show: prints a line. note: prints a remark."""

    def __init__(
        self, target: Target, selection: Selection, show: Callable[[Place, str], None], note: Callable[[str], None]
    ) -> None:
        self._target, self._selection, self._show, self._note = target, selection, show, note
        self._streams = ClusterStreams(target.environment.cluster.context)
        self._sources: dict[str, Source] = {}  # those that are followed, by the UID of their pod
        self._over = False

    async def print(self, sources: Sequence[Source], *, follow: bool) -> bool:
        """Show the output that is there, and with `follow` what the job prints until it has ended. Return False if some
        could not be read."""
        _allow_files()
        try:
            await self._read([source for source in sources if source.run is not None])
            refused = [source for source in sources if source.refused]
            if refused:
                await asyncio.to_thread(refuse_simulated, self._target, refused[0].node)
                self._note(f"not read: {list_names([f'{each.place}: {each.refused}' for each in refused], MOST_NAMED)}")
            if follow:
                self._sources = {source.uid: source for source in sources}
                await self._follow_job()
        finally:
            await self._streams.close()
        return not refused

    async def _read(self, sources: Sequence[Source]) -> None:
        """Show the existing output. With `tail: 0`, only note where it ends, for `-f`."""
        tail = {} if self._selection.tail is None else {"tailLines": str(max(self._selection.tail, 1))}
        streams = [self._lines(source, previous=str(source.previous).lower(), **tail) for source in sources]
        async with contextlib.AsyncExitStack() as opened:
            for stream in streams:
                opened.push_async_callback(stream.aclose)
            for group in [[stream] for stream in streams] if self._selection.failed else [streams]:
                async for _, source, text in _merged(group):
                    if self._selection.tail != 0:
                        self._show(source.place, text)

    async def _lines(self, source: Source, **query: str) -> AsyncGenerator[Line, None]:
        """Yield the new lines of one request. The API server repeats those of the last second: skip them until a new
        one comes; an earlier time after it is that of a clock that was set back."""
        last, again, repeats = source.last, source.count, True
        since = f"{last:%Y-%m-%dT%H:%M:%SZ}" if again else self._selection.since
        query |= {"container": source.container, "timestamps": "true", **({"sinceTime": since} if since else {})}
        source.refused = ""
        try:
            async with contextlib.aclosing(self._streams.lines(source.path, query)) as lines:
                async for line in lines:
                    at, text = split_stamp(line)
                    if at is not None:
                        if repeats and (at < last or (at == last and again)):
                            again -= at == last
                            continue
                        repeats = False
                        source.last, source.count = at, source.count + 1 if at == source.last else 1
                    for part in filter(None, text.split("\r")) if text else [""]:  # states of a progress bar
                        yield source.last, source, part
        except ClusterError as error:
            source.refused = error.message

    # --- follow

    async def _follow_job(self) -> None:
        """Show what the containers print, also in pods that come later, until the job has ended."""
        lost, unread = False, ""
        try:
            async with asyncio.TaskGroup() as group:
                for source in self._sources.values():
                    group.create_task(self._follow(source))
                async for found, error in after_changes(self._target, read):
                    if bool(error) != lost:
                        self._note(f"{error}; trying again" if error else "connected again")
                    lost = bool(error)
                    if PODS not in found.not_read:
                        self._update(found.pods, group)
                    self._over = has_ended(found)
                    if self._over:
                        unread = found.not_read.get(JOB, "")
                        break
                for source in self._sources.values():
                    source.changed.set()
        except* (OSError, ClusterError) as errors:  # such as a closed standard output
            raise errors.exceptions[0] from None
        if unread:
            raise ClusterError(f"the pods have ended; whether the job starts new ones is unknown: {unread}")

    def _update(self, pods: Sequence[Body], group: asyncio.TaskGroup) -> None:
        """Take over the states of the pods, and follow new ones."""
        bodies = {pod["metadata"]["uid"]: pod for pod in pods}
        for uid, source in self._sources.items():
            source.update(bodies.get(uid))
        for uid, pod in bodies.items():
            if uid not in self._sources and (new := self._selection.source(pod)) is not None:
                self._sources[uid] = new
                group.create_task(self._follow(new))

    async def _follow(self, source: Source) -> None:
        """Show the output of each run of a container, until its pod is gone or the job has ended."""
        while not source.gone:
            source.changed.clear()
            run, ended, last = source.run, source.ended, self._over
            if run not in (None, source.complete):
                async with contextlib.aclosing(self._lines(source, follow="true")) as lines:
                    async for _, _, text in lines:
                        self._show(source.place, text)
                if ended and not source.refused:
                    source.complete = run  # all of it was there before the request
            if last:
                return
            pause = None if run in (None, source.complete) else RETRY_SECONDS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(source.changed.wait(), pause)


def has_ended(snapshot: Snapshot) -> bool:
    """Return True if the job runs no more. Of one that could not be read, the pods decide."""
    states = {pod_state(pod) for pod in snapshot.pods}
    return status_of(snapshot).phase in OVER or (JOB in snapshot.not_read and bool(states) and states <= ENDED_PODS)


async def _merged(streams: Sequence[AsyncIterator[Line]]) -> AsyncIterator[Line]:
    """Yield the lines of all streams by time."""
    heads = await asyncio.gather(*(anext(stream, None) for stream in streams))
    heap = [(line[0], index, line) for index, line in enumerate(heads) if line is not None]
    heapq.heapify(heap)
    while heap:
        _, index, line = heap[0]
        yield line
        following = await anext(streams[index], None)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (following[0], index, following))


def split_stamp(line: bytes) -> tuple[datetime | None, str]:
    """Return the time of a line, and its text. A line without a time is an error of the kubelet."""
    stamp, _, text = line.partition(b" ")
    try:
        return datetime.fromisoformat(stamp.decode()).astimezone(UTC), text.decode(errors="replace")
    except ValueError:
        return None, line.decode(errors="replace")


def _container_status(pod: Body | None, name: str) -> dict[str, Any]:
    """Return the status of a container; empty before the kubelet has set one."""
    return next((each for each in container_statuses(mapping(pod)) if each.get("name") == name), {})


def _allow_files() -> None:
    """Let this process open as many connections as it may: shells set a low limit, which it may raise."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
