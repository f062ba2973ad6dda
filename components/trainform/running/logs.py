"""The output of a job's pods as one stream of lines: what is there, by time, and what follows.

One thread reads all containers and prints. If the terminal is slow, the connections wait, and no line is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from http.client import BAD_REQUEST, NOT_FOUND
from typing import IO, Any, NamedTuple

from msgspec import Struct

from trainform.cluster.api import Answer
from trainform.cluster.streams import DELETED, FOUND, ClusterStreams
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping, mappings
from trainform.running.pods import Place
from trainform.running.snapshot import Body

AT_ONCE = 32  # connections for the output that is there
IN_MEMORY = 1 << 16  # bytes of a container's output until those of all are merged; the rest is in a temporary file
RETRY_SECONDS, JOB_SECONDS = 1.0, 2.0
END_SECONDS = 30.0  # for the last lines, after the job has ended


class Stamp(NamedTuple):
    """The time of a line in UTC, and as it is written: up to nanoseconds."""

    time: datetime
    written: bytes


FIRST = Stamp(datetime.min.replace(tzinfo=UTC), b"")


class Wanted(Struct, frozen=True):
    """The part of the output that is shown. since: seconds. tail: lines of each container. by_time: lines of all
    containers by time, otherwise one container after the other."""

    since: int | None = None
    tail: int | None = None
    by_time: bool = True


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


class Pods(Struct, frozen=True):
    """The pods whose output is followed. source_of: returns None for a pod that is not wanted."""

    path: str
    query: Mapping[str, str]
    source_of: Callable[[Body], Source | None]


class Logs:
    """Reads the output of containers. show: prints a line. note: prints a remark. refused: the pods whose output could
    not be read, with the reason."""

    def __init__(
        self, streams: ClusterStreams, wanted: Wanted, show: Callable[[Place, str], None], note: Callable[[str], None]
    ) -> None:
        self._streams, self._wanted, self._show, self._note = streams, wanted, show, note
        self._began = time.monotonic()
        self._sources: dict[str, Source] = {}  # those that are followed, by the UID of their pod
        self._lost = False
        self.refused: dict[str, str] = {}

    async def read(self, sources: Sequence[Source]) -> None:
        """Show the output that is there."""
        allow_files()
        at_once = asyncio.Semaphore(AT_ONCE)
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY)) for _ in sources]
            await asyncio.gather(*(self._keep(*each, at_once) for each in zip(sources, files, strict=True)))
            lines = [_kept(*each) for each in zip(sources, files, strict=True)]
            ordered = heapq.merge(*lines, key=lambda line: line[0]) if self._wanted.by_time else itertools.chain(*lines)
            for _, source, text in ordered:
                self._print(source, text)
        self._sources = {source.uid: source for source in sources}

    async def _keep(self, source: Source, file: IO[bytes], at_once: asyncio.Semaphore) -> None:
        """Write the output into the file. With `tail: 0` the last line is read too: `follow` goes on there."""
        tail = {} if self._wanted.tail is None else {"tailLines": str(max(self._wanted.tail, 1))}
        query = {**self._since(source), **tail, "previous": str(source.previous).lower()}
        source.begun = source.run
        async with at_once:
            try:
                async for line in self._streams.lines(source.path, query):
                    if isinstance(line, Answer):
                        self.refused[str(source.place)] = line.message
                        break
                    source.cursor.is_new(split_stamp(line)[0])
                    if self._wanted.tail != 0:
                        file.write(line + b"\n")
            except ClusterError as error:
                self.refused[str(source.place)] = error.message
        file.seek(0)

    def _since(self, source: Source) -> dict[str, str]:
        """Return the query for what has not been shown yet."""
        query = {"container": source.container, "timestamps": "true"}
        if source.cursor.since:
            return query | {"sinceTime": source.cursor.since}
        if self._wanted.since is None:
            return query
        return query | {"sinceSeconds": str(self._wanted.since + int(time.monotonic() - self._began))}

    def _print(self, source: Source, text: str) -> None:
        """Print a line. The states of a progress bar end with carriage returns, and are lines here."""
        for part in [part for part in text.split("\r") if part] or [""]:
            self._show(source.place, part)

    # --- follow

    async def follow(self, pods: Pods, has_ended: Callable[[], bool]) -> None:
        """Show what the containers print, also in pods that come later, until the job has ended. has_ended: runs in a
        thread."""
        async with asyncio.TaskGroup() as group:
            followers = [group.create_task(self._follow(source)) for source in self._sources.values()]
            followers.append(group.create_task(self._watch(pods, group, followers)))
            await self._until_the_end(has_ended)
            for task in followers:
                task.cancel()

    async def _until_the_end(self, has_ended: Callable[[], bool]) -> None:
        """Return after the end of the job and its last lines. Seen twice: the states of its pods may come later."""
        since = None
        while True:
            await asyncio.sleep(JOB_SECONDS)
            now = time.monotonic()
            if not await asyncio.to_thread(has_ended):
                since = None
            elif since is None:
                since = now
            elif now - since > END_SECONDS or not any(source.is_ending for source in self._sources.values()):
                return

    async def _watch(self, pods: Pods, group: asyncio.TaskGroup, followers: list[asyncio.Task[None]]) -> None:
        """Keep the states of the pods, and follow new ones."""

        def take(pod: Body, *, gone: bool = False) -> None:
            source = self._sources.get(pod["metadata"]["uid"])
            if source is not None:
                source.gone = gone
                source.update(pod)
            elif not gone and (source := pods.source_of(pod)) is not None:
                self._sources[source.uid] = source
                followers.append(group.create_task(self._follow(source)))

        lost = False
        while True:
            try:
                async for change, found in self._streams.changes(pods.path, "list the pods of the job", pods.query):
                    if change != FOUND:
                        take(found, gone=change == DELETED)
                        continue
                    if lost:
                        self._note("connected again")
                    lost = False
                    for source in self._sources.values():
                        source.gone = True
                        source.changed.set()
                    for pod in found:
                        take(pod)
            except ClusterError as error:
                if not lost:
                    self._note(f"{error.message}; trying again")
                lost = True
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, source: Source) -> None:
        """Show the output of each run of a container until its pod is gone."""
        while not source.gone:
            source.changed.clear()
            run, ended = source.run, source.ended
            if run is None or run == source.complete:
                await source.changed.wait()
                continue
            if (
                source.begun is not None and source.complete < source.begun < run
            ):  # it was started again while the connection was lost
                await self._pass_on(source, {"previous": "true"})
            source.begun = run
            if await self._pass_on(source, {"follow": "true"}) and ended:
                source.complete = run  # all of it was there before the request
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(source.changed.wait(), RETRY_SECONDS)

    async def _pass_on(self, source: Source, query: Mapping[str, str]) -> bool:
        """Show the new lines of one request; return True if it came to its end."""
        source.cursor.restart()
        with contextlib.suppress(ClusterError):  # the watch notes that the connection is lost
            async for line in self._streams.lines(source.path, {**self._since(source), **query}):
                if isinstance(line, Answer):
                    self._note_once(source.place, line)
                    return False
                stamp, text = split_stamp(line)
                if source.cursor.is_new(stamp):
                    self._print(source, text)
            return True
        return False

    def _note_once(self, place: Place, answer: Answer) -> None:
        """Note why a pod cannot be read, but not that its container starts or that it is deleted."""
        if answer.status not in (BAD_REQUEST, NOT_FOUND) and str(place) not in self.refused:
            self.refused[str(place)] = answer.message
            self._note(f"{place}: {answer.message}; trying again")


def _kept(source: Source, file: IO[bytes]) -> Iterator[tuple[Stamp, Source, str]]:
    """Yield the lines of a file with their stamps. An error of the kubelet has that of the line before."""
    last = FIRST
    for line in file:
        stamp, text = split_stamp(line.removesuffix(b"\n"))
        last = last if stamp is None else stamp
        yield last, source, text


def allow_files() -> None:
    """Let this process open as many connections as it may: shells set a low limit, which it may raise."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
