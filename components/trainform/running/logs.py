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
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from http.client import BAD_REQUEST
from typing import IO, Any

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import Answer, ClusterApi, labelled
from trainform.cluster.live_objects import find_job, path_of
from trainform.cluster.phases import ENDED, phase_of
from trainform.cluster.streams import DELETED, FOUND, ClusterStreams
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping
from trainform.manifests.objects import pod_selector
from trainform.running.outputs import FIRST, Selection, Source, Stamp, split_stamp
from trainform.running.pods import Place
from trainform.running.snapshot import Body, Snapshot

AT_ONCE = 32  # connections for the output that is there
IN_MEMORY = 1 << 16  # bytes of a container's output until those of all are merged; the rest is in a temporary file
RETRY_SECONDS, LONGEST_PAUSE, JOB_SECONDS = 1.0, 8.0, 2.0
END_SECONDS = 30.0  # for the last lines, after the job has ended
Show = Callable[[Place, str], None]
"""Prints a line."""
Note = Callable[[str], None]
"""Prints a remark."""


class Logs:
    """Reads the output of containers. refused: the pods whose output could not be read, with the reason."""

    def __init__(
        self,
        streams: ClusterStreams,
        selection: Selection,
        show: Show,
        note: Note,
    ) -> None:
        self._streams, self._selection, self._show, self._note = streams, selection, show, note
        self._began = time.monotonic()
        self._sources: dict[str, Source] = {}  # those that are followed, by the UID of their pod
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
            merged = heapq.merge(*lines, key=lambda line: line[0])
            ordered = itertools.chain(*lines) if self._selection.failed else merged
            for _, source, text in ordered:
                self._print(source, text)
        self._sources = {source.uid: source for source in sources}

    async def _keep(self, source: Source, file: IO[bytes], at_once: asyncio.Semaphore) -> None:
        """Write the output into the file. With `tail: 0` the last line is read too: `follow` goes on there."""
        tail = {} if self._selection.tail is None else {"tailLines": str(max(self._selection.tail, 1))}
        query = {**self._since(source), **tail, "previous": str(source.previous).lower()}
        source.begun = source.run
        async with at_once:
            try:
                async for line in self._streams.lines(source.path, query):
                    if isinstance(line, Answer):
                        self.refused[str(source.place)] = line.message
                        break
                    source.cursor.is_new(split_stamp(line)[0])
                    if self._selection.tail != 0:
                        file.write(line + b"\n")
            except ClusterError as error:
                self.refused[str(source.place)] = error.message
        file.seek(0)

    def _since(self, source: Source) -> dict[str, str]:
        """Return the query for what has not been shown yet."""
        query = {"container": source.container, "timestamps": "true"}
        if source.cursor.since:
            return query | {"sinceTime": source.cursor.since}
        if self._selection.since is None:
            return query
        return query | {"sinceSeconds": str(self._selection.since + int(time.monotonic() - self._began))}

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
        pause = RETRY_SECONDS
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
            whole = await self._pass_on(source, {"follow": "true"})
            if whole and ended:
                source.complete = run  # all of it was there before the request
                continue
            pause = RETRY_SECONDS if whole else min(2 * pause, LONGEST_PAUSE)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(source.changed.wait(), pause)

    async def _pass_on(self, source: Source, query: Mapping[str, str]) -> bool:
        """Show the new lines of one request; return True if it came to its end."""
        source.cursor.restart()
        with contextlib.suppress(ClusterError):  # the watch notes that the connection is lost
            async for line in self._streams.lines(source.path, {**self._since(source), **query}):
                if isinstance(line, Answer):
                    self._note_once(source, line)
                    return False
                stamp, text = split_stamp(line)
                if source.cursor.is_new(stamp):
                    self._print(source, text)
            self.refused.pop(str(source.place), None)
            return True
        return False

    def _note_once(self, source: Source, answer: Answer) -> None:
        """Note why a pod cannot be read, but not that its container starts or that it is deleted."""
        expected = answer.status == BAD_REQUEST or (answer.missing and source.leaves)
        if not expected and str(source.place) not in self.refused:
            self.refused[str(source.place)] = answer.message
            self._note(f"{source.place}: {answer.message}; trying again")


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
