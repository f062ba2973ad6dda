"""A job after each change: watches on its pods and its job object say when to read it again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from trainform.backends.backend import BACKENDS
from trainform.cluster.api import NotReadError, labelled
from trainform.cluster.live_objects import job_collections, path_of
from trainform.cluster.phases import ENDED, Phase
from trainform.cluster.streams import ClusterStreams
from trainform.errors import ClusterError
from trainform.manifests.objects import pod_selector
from trainform.running.snapshot import Target

REFRESH_SECONDS = 10.0  # after which it is read without a change: the gang, the queue and ages
RETRY_SECONDS, LEAST_SECONDS = 2.0, 1.0
PAUSE = 2  # it waits twice as long as the last read took
OVER = ENDED | {Phase.GONE}
"""Phases after which a job does not change."""
Result = TypeVar("Result")


async def after_changes(
    target: Target, read: Callable[[Target], Result], refresh: float = REFRESH_SECONDS
) -> AsyncIterator[tuple[Result, str]]:
    """Yield what `read` returns and "", again after each change of the job, without an end; while the cluster cannot be
    read, the last result and the reason. read: runs in a thread. refresh: seconds after which it reads without a
    change. ClusterError if the first read fails."""
    streams, changed = ClusterStreams(target.environment.cluster.context), asyncio.Event()
    jobs = job_collections(BACKENDS[target.environment.backend], target.namespace)
    paths = [path_of("Pod", target.namespace), *jobs]
    watches = [asyncio.create_task(_signal(streams, path, target, changed)) for path in paths]
    begun = time.monotonic()
    try:
        found = await asyncio.to_thread(read, target)
        yield found, ""
        while True:
            await asyncio.sleep(max(LEAST_SECONDS, PAUSE * (time.monotonic() - begun)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), refresh)
            changed.clear()
            begun, error = time.monotonic(), ""
            try:
                found = await asyncio.to_thread(read, target)
            except ClusterError as failed:
                error = failed.message
            yield found, error
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await streams.close()


async def _signal(streams: ClusterStreams, path: str, target: Target, changed: asyncio.Event) -> None:
    """Set the event at each change in a collection, also after the connection was lost. Return if the server refuses
    the watch."""
    query = {**labelled(pod_selector(target.experiment)), "watch": "true"}
    while True:
        try:
            async for _ in streams.lines(path, query):
                changed.set()
        except NotReadError:
            return
        except ClusterError:
            changed.set()
        await asyncio.sleep(RETRY_SECONDS)
