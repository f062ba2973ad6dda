"""Limits of pods except nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Literal

from msgspec import Struct, structs

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, spelled, summed
from trainform.cluster.facts import NO_HOLDERS, LiveKueue, LiveQuota
from trainform.review.context import Context
from trainform.review.pod_needs import Need
from trainform.review.shares import above, held_below, shares_of

REQUESTS, COUNTED_PODS = "requests.", "count/pods"
MOST_NAMED = 2
Holders = Mapping[str, Mapping[str, str]]
Names = Mapping[str, str]  # the kind of accelerators of a resource: `resource_names`


def amount(resource: str, value: Decimal, names: Names) -> str:
    """Return the amount with the name of the resource: `32 a800`."""
    return f"{spelled(resource, value)} {names.get(resource, resource)}"


class Lack(Struct, frozen=True):
    """A reason why pods do not start now. held: of the resource by each other job."""

    verdict: Literal["never", "later", "unknown", "now"]
    reason: str
    resource: str = ""
    requested: Decimal = NOTHING
    missing: Decimal = NOTHING
    held: Mapping[str, Decimal] = {}
    part: bool = False  # the gang starts, and other pods wait
    object: str = ""  # KIND/NAME of the limit; "" for the nodes
    largest: Decimal | None = None  # the most that is free on one node; None if the limit is not of nodes


class Limit(Struct, frozen=True):
    """A limited amount of each resource, for all jobs together."""

    name: str
    most: Amounts = {}
    gang: Amounts = {}  # requested by the pods of the preview that start together
    every: Amounts = {}  # requested by all pods of the preview
    held: Mapping[str, Amounts] = {}  # by each other job
    unknown: str = ""  # why `held` is unknown
    lack: Lack | None = None  # whatever is free: the queue is stopped, or cannot be judged
    object: str = ""  # KIND/NAME

    def lacks(self, names: Names) -> Iterator[Lack]:
        """Yield what the pods of the preview lack by this limit."""
        if self.lack is not None:
            yield self.lack
        for resource in sorted(self.gang.keys() & self.most.keys()):
            most, held = self.most[resource], {job: each.get(resource, NOTHING) for job, each in self.held.items()}
            free = max(most - sum(held.values(), NOTHING), NOTHING)
            part = self.gang[resource] <= free
            requested = self.every[resource] if part else self.gang[resource]
            needed = f"and {'all its pods need' if part else 'the job needs'} {amount(resource, requested, names)}"
            if requested > most:
                reason = f"{self.name} may hold {amount(resource, most, names)}, {needed}"
                yield Lack("later" if part else "never", reason, resource, requested, requested - most, part=part)
            elif requested > free:
                left = f"{self.name} has {spelled(resource, free)} of {amount(resource, most, names)} left"
                yield Lack("later", f"{left}, {needed}", resource, requested, requested - free, held, part)
            elif self.unknown:
                yield Lack("unknown", f"what other jobs hold of {self.name} was not read ({self.unknown})")


class Jobs(Struct, frozen=True):
    """The jobs that are judged."""

    needs: Sequence[Need]
    earlier: Sequence[Need]  # jobs that the same review starts before them
    own: Set[str]  # names of the jobs whose room is free then

    def limit(self, name: str, most: Amounts, holders: Holders, key: Callable[[Need], str], keys: Set[str]) -> Limit:
        """Return the limit for the jobs whose key is one of `keys`. holders: what each job has of it."""
        needs, earlier = ([need for need in side if key(need) in keys] for side in (self.needs, self.earlier))
        held = {job: amounts_of(amounts) for job, amounts in holders.items() if job not in self.own}
        held |= {need.name: need.gang for need in earlier}
        return Limit(name, most, summed(need.gang for need in needs), summed(need.every for need in needs), held)


def limits(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """Yield every limit that counts the jobs."""
    live = context.live
    yield from _queues(context, jobs)
    if live is not None:
        yield from (_quota(quota, jobs) for quotas in live.quotas.values() for quota in quotas if not quota.scoped)
        yield from _kueue(live.kueue, jobs)


def _queues(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """Yield the jobs' queues and those above them, each with all queues below it, as they will be."""
    live, shares = context.live, shares_of(context)
    unknown = "" if live is None else live.not_read.get(NO_HOLDERS, live.not_read.get("queues", ""))
    for queue in dict.fromkeys(need.queue for need in jobs.needs if need.queue):
        for name in (queue, *above(queue, shares)):
            most = amounts_of(shares[name].capability) if name in shares else {}
            below, holders = {name, *(each for each in shares if name in above(each, shares))}, held_below(name, shares)
            limit = jobs.limit(f"the queue {name}", most, dict(holders), lambda need: need.queue, below)
            yield structs.replace(limit, unknown=unknown, object=f"Queue/{name}")


def _quota(quota: LiveQuota, jobs: Jobs) -> Limit:
    """Return the quota in the resources of pods: `requests.cpu` and `cpu` are one, and the lower one counts."""
    lower_last = sorted(amounts_of(quota.hard).items(), key=lambda each: each[1], reverse=True)
    most = {POD_SLOTS if name == COUNTED_PODS else name.removeprefix(REQUESTS): amount for name, amount in lower_last}
    name = f"the ResourceQuota {quota.name} of the namespace {quota.namespace}"
    limit = jobs.limit(name, most, quota.holders or {}, lambda need: need.namespace, {quota.namespace})
    unknown = "its pods were not read" if quota.holders is None else ""
    return structs.replace(limit, unknown=unknown, object=f"ResourceQuota/{quota.name}")


def _kueue(kueue: LiveKueue, jobs: Jobs) -> Iterator[Limit]:
    """Yield the LocalQueues and ClusterQueues of the jobs; of a cohort the sum of its queues, which lend each other
    what is free."""
    queues = {queue.name: queue for queue in kueue.cluster_queues}
    for place in dict.fromkeys(need.local_queue for need in jobs.needs if need.local_queue):
        queue = queues.get(kueue.local_queues.get(place, ""))
        name = "" if queue is None else queue.name
        local, cluster = f"the LocalQueue {place}", f"the ClusterQueue {name}"
        of_local, of_cluster = f"LocalQueue/{place.rpartition('/')[2]}", f"ClusterQueue/{name}"
        yield Limit(local, lack=_stopped(local, kueue.stopped.get(place, "")), object=of_local)
        yield Limit(cluster, lack=_stopped(cluster, "" if queue is None else queue.stopped), object=of_cluster)
        if queue is None or queue.nested:
            why = "its ClusterQueue was not found" if queue is None else f"the cohort {queue.cohort} has more limits"
            yield Limit(local, lack=Lack("unknown", f"{local} is not judged: {why}"))
            continue
        members = [each for each in queues.values() if each is queue or (queue.cohort and each.cohort == queue.cohort)]
        holders = {job: held for each in members for job, held in each.holders.items()}
        names = {each.name for each in members}
        places = {place for place, cluster in kueue.local_queues.items() if cluster in names}
        most = summed(amounts_of(each.nominal) for each in members)
        shared = f"the cohort {queue.cohort}" if queue.cohort else cluster
        limit = jobs.limit(shared, most, holders, lambda need: need.local_queue, places)
        yield structs.replace(limit, object=of_cluster)


def _stopped(name: str, policy: str) -> Lack | None:
    return Lack("later", f"{name} admits nothing (`stopPolicy: {policy}`)") if policy else None
