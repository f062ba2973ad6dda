"""Limits of pods besides nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct, structs

from trainform import defaults
from trainform.cluster.amounts import POD_SLOTS, Amounts, amounts_of, summed
from trainform.cluster.facts import NO_HOLDERS, LiveKueue, LiveQuota
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.pod_needs import Need
from trainform.review.shares import above, held_below, shares_of

REQUESTS, COUNTED_PODS = "requests.", "count/pods"
MOST_NAMED = 2


class Limit(Struct, frozen=True):
    """A limited amount of each resource, for all jobs together."""

    name: str
    most: Amounts = {}
    asked: Amounts = {}  # by the pods of the preview that start together
    every: Amounts = {}  # by all pods of the preview
    held: Mapping[str, Amounts] = {}  # by each other job
    unknown: str = ""  # why `held` is unknown
    queue: str = ""  # the name, if it is the queue of a job
    stopped: str = ""  # Kueue's policy by which it admits nothing, however much is free
    ignored: str = ""  # what decides about the room too and is not judged


class Jobs(Struct, frozen=True):
    """The jobs that are judged. earlier: those that the same review starts before them. own: names of jobs whose room
    is free then."""

    needs: Sequence[Need]
    earlier: Sequence[Need]
    own: Set[str]

    @property
    def every(self) -> list[Need]:
        """Those that are judged and those before them."""
        return [*self.needs, *self.earlier]

    def limit(self, name: str, most: Amounts, holders: Mapping[str, Mapping[str, str]], counted: Set[str]) -> Limit:
        """Return the limit for the jobs with these names. holders: what each job has of it."""
        needs = [need for need in self.needs if need.name in counted]
        held = {job: amounts_of(amounts) for job, amounts in holders.items() if job not in self.own}
        held |= {need.name: need.gang for need in self.earlier if need.name in counted}
        return Limit(name, most, summed(need.gang for need in needs), summed(need.every for need in needs), held)


def limits(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """Yield every limit that counts the jobs."""
    live = context.live
    yield from _queues(context, jobs)
    if live is not None:
        yield from (_quota(quota, jobs) for quotas in live.quotas.values() for quota in quotas)
        yield from _kueue(LiveKueue({}, ()) if live.kueue is None else live.kueue, jobs)


def _queues(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """Yield the jobs' queues and those above them, each with all queues below it, as they will be."""
    live, shares = context.live, shares_of(context)
    unknown = "" if live is None else live.not_read.get(NO_HOLDERS, live.not_read.get("queues", ""))
    for queue in dict.fromkeys(need.queue for need in jobs.needs if need.queue):
        for name in (queue, *above(queue, shares)):
            most = amounts_of(shares[name].capability) if name in shares else {}
            below = {need.name for need in jobs.every if name in (need.queue, *above(need.queue, shares))}
            limit = jobs.limit(f"the queue {name}", most, dict(held_below(name, shares)), below)
            yield structs.replace(limit, unknown=unknown, queue=name if name == queue else "")
        guaranteed = (each.name for each in shares.values() if any(amounts_of(each.guarantee).values()))
        others = sorted({*guaranteed} - {queue, defaults.ROOT_QUEUE})
        if others:
            yield Limit(queue, ignored=f"the `guarantee` of other queues: {list_names(others, MOST_NAMED)}")


def _quota(quota: LiveQuota, jobs: Jobs) -> Limit:
    """Return the quota in the resources of pods: `requests.cpu` and `cpu` are one, and the lower one counts."""
    if quota.scoped:
        return Limit(quota.name, ignored=f"the ResourceQuota {quota.name}, which counts only some pods")
    lower_last = sorted(amounts_of(quota.hard).items(), key=lambda each: each[1], reverse=True)
    most = {POD_SLOTS if name == COUNTED_PODS else name.removeprefix(REQUESTS): amount for name, amount in lower_last}
    name = f"the ResourceQuota {quota.name} of the namespace {quota.namespace}"
    holders = {} if quota.holders is None else quota.holders
    limit = jobs.limit(name, most, holders, {need.name for need in jobs.every if need.namespace == quota.namespace})
    return structs.replace(limit, unknown="its pods were not read" if quota.holders is None else "")


def _kueue(kueue: LiveKueue, jobs: Jobs) -> Iterator[Limit]:
    """Yield the LocalQueues and ClusterQueues of the jobs; of a cohort the sum of its queues, which lend each other
    what is free."""
    queues = {queue.name: queue for queue in kueue.cluster_queues}
    for place in dict.fromkeys(need.local_place for need in jobs.needs if need.local_queue):
        queue = queues.get(kueue.local_queues.get(place, ""))
        yield Limit(f"the LocalQueue {place}", stopped=kueue.stopped.get(place, ""))
        if queue is None:
            yield Limit(place, ignored=f"the LocalQueue {place}, whose ClusterQueue was not found")
            continue
        name = f"the ClusterQueue {queue.name}"
        if queue.nested:
            ignored = f"the cohort {queue.cohort}, which has quotas of its own or a parent"
            yield Limit(name, stopped=queue.stopped, ignored=ignored)
            continue
        members = [each for each in queues.values() if each is queue or (queue.cohort and each.cohort == queue.cohort)]
        most = summed(amounts_of(each.nominal) for each in members)
        holders = {job: held for each in members for job, held in each.holders.items()}
        names = {each.name for each in members}
        counted = {need.name for need in jobs.every if kueue.local_queues.get(need.local_place) in names}
        limit = jobs.limit(f"the cohort {queue.cohort}" if queue.cohort else name, most, holders, counted)
        in_part = f"flavors and borrowing limits of the ClusterQueue {queue.name}" if queue.in_part else ""
        yield structs.replace(limit, queue=queue.name, ignored=in_part)
        yield Limit(name, stopped=queue.stopped)
