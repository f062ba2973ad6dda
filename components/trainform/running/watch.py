"""The status of a job after each change. Watches on its pods and its job object say when to read it again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping

from trainform.backends.backend import BACKENDS
from trainform.cluster.api import NotReadError, labelled
from trainform.cluster.live_objects import job_collections, path_of
from trainform.cluster.phases import ENDED, Phase
from trainform.cluster.streams import ClusterStreams
from trainform.errors import ClusterError
from trainform.manifests.objects import pod_selector
from trainform.running.model import JobStatus
from trainform.running.snapshot import Target
from trainform.running.status import status_of_target

REFRESH_SECONDS = 10.0  # after which it is read without a change: the gang, the queue and ages
RETRY_SECONDS = 2.0
SHARE = 2  # of its time a read of a large job takes at most a third
OVER = ENDED | {Phase.GONE}
Show = Callable[[JobStatus, str], None]
"""Takes the status, and why there is no newer one; "" if there is."""


def watch_status(target: Target, show: Show) -> None:
    """Show the status after each change until the job has ended. ClusterError if the first read fails; later it tries
    again."""
    asyncio.run(_watch(target, show))


async def _watch(target: Target, show: Show) -> None:
    found, changed = await asyncio.to_thread(status_of_target, target), asyncio.Event()
    streams = ClusterStreams(target.environment.cluster.context)
    watches = [asyncio.create_task(_signal(streams, path, query, changed)) for path, query in _watched(target, found)]
    try:
        show(found, "")
        while found.phase not in OVER:
            error = ""
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), REFRESH_SECONDS)
            changed.clear()
            begun = time.monotonic()
            try:
                found = await asyncio.to_thread(status_of_target, target)
            except ClusterError as failed:
                error = failed.message
                changed.set()
            show(found, error)
            await asyncio.sleep(max(1.0, SHARE * (time.monotonic() - begun), RETRY_SECONDS if error else 0.0))
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await streams.close()


def _watched(target: Target, found: JobStatus) -> list[tuple[str, Mapping[str, str]]]:
    """Return the collections to watch, each with its selector."""
    pods = path_of("Pod", target.namespace), labelled(pod_selector(target.experiment))
    jobs = job_collections(BACKENDS[found.backend], target.namespace) if found.backend in BACKENDS else []
    return [pods, *((path, labelled(pod_selector(target.experiment))) for path in jobs)]


async def _signal(streams: ClusterStreams, path: str, query: Mapping[str, str], changed: asyncio.Event) -> None:
    """Set the event at each change, also after the connection was lost. A collection that is not served, or must not be
    read, has no changes."""
    while True:
        try:
            async for _ in streams.changes(path, "watch the job", query):
                changed.set()
        except NotReadError:
            return
        except ClusterError:
            changed.set()
        await asyncio.sleep(RETRY_SECONDS)
