"""What decides about room for pods and capacity does not judge: with it, pods that fit may wait."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.pod_limits import queue_of
from trainform.review.pod_needs import needs_of
from trainform.review.shares import live_queues

NOT_CONSIDERED = "Not considered: {}."
NOT_OF_PODS = ("limits.", "count/")
"""Beginnings of resources in a quota that no dry run of a pod template counts."""
MOST_QUEUES = 5


def not_considered(context: Context) -> Iterator[str]:
    """A sentence for each thing that is left out."""
    live = context.live
    for need in needs_of(context) or ():
        yield from map(NOT_CONSIDERED.format, need.rules)
        for quota in () if live is None else live.quotas.get(need.namespace, ()):
            if quota.scoped:
                yield NOT_CONSIDERED.format(f"the ResourceQuota {quota.name}, which counts only some pods")
            others = sorted(name for name in quota.hard if name.startswith(NOT_OF_PODS))
            if others:
                yield NOT_CONSIDERED.format(f"{list_names(others)} of the ResourceQuota {quota.name}")
        kept = sorted(each.name for each in live_queues(live) if each.guarantee and each.name != need.queue)
        if need.queue and kept:
            yield NOT_CONSIDERED.format(f"the `guarantee` of the queues {list_names(kept, MOST_QUEUES)}")
        if live is None or not need.local_queue:
            continue
        queues = {} if live.kueue is None else {queue.name: queue for queue in live.kueue.cluster_queues}
        found = None if live.kueue is None else queues.get(queue_of(live.kueue, need))
        if found is None:
            yield NOT_CONSIDERED.format(f"the queue {need.local_queue} of Kueue, whose ClusterQueue was not found")
        elif found.in_part:
            yield NOT_CONSIDERED.format(f"flavors and borrowing limits of the ClusterQueue {found.name}")
        elif found.nested:
            yield NOT_CONSIDERED.format(f"the cohort {found.cohort}, which has quotas of its own or a parent")
