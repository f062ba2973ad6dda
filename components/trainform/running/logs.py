"""The output of a job's pods as one stream of lines: what is there, by time, and what follows.

One thread reads all containers and prints. If the terminal is slow, the connections wait, and no line is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import heapq
import itertools
import resource
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from http.client import BAD_REQUEST, NOT_FOUND
from typing import IO, Any, NamedTuple

from msgspec import Struct

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import Answer, ClusterApi, labelled
from trainform.cluster.live_objects import find_job, path_of
from trainform.cluster.phases import ENDED, phase_of
from trainform.cluster.streams import DELETED, FOUND, ClusterStreams
from trainform.errors import ClusterError, InputError, Problem, list_names
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.objects import pod_selector
from trainform.running.pods import Choice, Place, containers_of, place_of
from trainform.running.snapshot import Body, Snapshot

AT_ONCE = 32  # connections for the output that is there
IN_MEMORY = 1 << 16  # bytes of a container's output until those of all are merged; the rest is in a temporary file
RETRY_SECONDS, JOB_SECONDS = 1.0, 2.0
END_SECONDS = 30.0  # for the last lines, after the job has ended


class Stamp(NamedTuple):
    """The time of a line in UTC, and as it is written: up to nanoseconds."""

    time: datetime
    written: bytes


Show = Callable[[Place, str], None]
"""Prints a line."""
Note = Callable[[str], None]
"""Prints a remark."""
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
    """Return the pods that have failed, the first to fail first."""
    return sorted((pod for pod in pods if failed_at(pod)[0]), key=lambda pod: failed_at(pod)[0])


class Selection(Struct, frozen=True):
    """The containers whose output is wanted. ranks: `first_ranks` of the job. step: the name of a container, None for
    the main one. previous: of the run before the last restart. failed: of the last run that failed."""

    choice: Choice
    ranks: Mapping[str, int]
    step: str | None = None
    previous: bool = False
    failed: bool = False

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


class Logs:
    """Reads the output of containers. refused: the pods whose output could not be read, with the reason."""

    def __init__(
        self,
        streams: ClusterStreams,
        selection: Selection,
        wanted: Wanted,
        show: Show,
        note: Note,
    ) -> None:
        self._streams, self._selection, self._wanted, self._show, self._note = streams, selection, wanted, show, note
        self._began = time.monotonic()
        self._sources: dict[str, Source] = {}  # those that are followed, by the UID of their pod
        self._lost = False
        self.refused: dict[str, str] = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._streams.close()

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

    async def follow(self, pods: str, query: Mapping[str, str], has_ended: Callable[[], bool]) -> None:
        """Show what the containers print, also in pods that come later, until the job has ended. pods, query: the path
        of the job's pods. has_ended: runs in a thread."""
        followers = list[asyncio.Task[None]]()
        self.refused.clear()
        try:
            async with asyncio.TaskGroup() as group:

                def start(work: Coroutine[Any, Any, None]) -> None:
                    followers.append(group.create_task(work))

                start(self._watch(pods, query, start))
                for source in self._sources.values():
                    start(self._follow(source))
                await self._until_the_end(has_ended)
                for task in followers:
                    task.cancel()
        except* OSError as errors:  # standard output is closed
            raise errors.exceptions[0] from None

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

    async def _watch(
        self, pods: str, query: Mapping[str, str], start: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        """Keep the states of the pods, and follow new ones."""

        def take(pod: Body, *, gone: bool = False) -> None:
            source = self._sources.get(pod["metadata"]["uid"])
            if source is not None:
                source.gone = gone
                source.update(pod)
            elif not gone and (source := self._selection.source(pod)) is not None:
                self._sources[source.uid] = source
                start(self._follow(source))

        lost = False
        while True:
            try:
                async for change, found in self._streams.changes(pods, "list the pods of the job", query):
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
            self.refused.pop(str(source.place), None)
            return True
        return False

    def _note_once(self, place: Place, answer: Answer) -> None:
        """Note why a pod cannot be read, but not that its container starts or that it is deleted."""
        if answer.status not in (BAD_REQUEST, NOT_FOUND) and str(place) not in self.refused:
            self.refused[str(place)] = answer.message
            self._note(f"{place}: {answer.message}; trying again")


async def print_logs(snapshot: Snapshot, sources: Sequence[Source], logs: Logs, *, follow: bool) -> None:
    """Show the output of the sources, and with `follow` what the job's pods print until it has ended."""
    job = snapshot.job
    try:
        await logs.read([source for source in sources if source.run is not None])
        if follow and job is not None:
            labels = pod_selector(snapshot.target.experiment)
            revision = str(mapping(job["metadata"].get("labels")).get(defaults.REVISION_LABEL, ""))
            query = labelled({**labels, defaults.REVISION_LABEL: revision})
            context = snapshot.target.environment.cluster.context
            with contextlib.closing(ClusterApi(context, JOB_SECONDS)) as api:
                path = path_of("Pod", snapshot.target.namespace)
                await logs.follow(path, query, functools.partial(_has_ended, api, snapshot))
    finally:
        await logs.close()


def _has_ended(api: ClusterApi, snapshot: Snapshot) -> bool:
    """Return True if the job has ended or is gone; False if it cannot be read."""
    record, target = snapshot.record, snapshot.target
    backend = target.environment.backend if record is None else record.backend
    try:
        job = find_job(api, BACKENDS[backend], target.namespace, mapping(snapshot.job)["metadata"]["name"])
    except ClusterError:
        return False
    return job is None or phase_of(job, None) in ENDED


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
