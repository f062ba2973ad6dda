"""Limits of pods except nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Literal

from msgspec import Struct, structs

from trainform import defaults
from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, spelled, summed
from trainform.cluster.facts import NO_HOLDERS, LiveKueue, LiveQuota
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.pod_needs import Need
from trainform.review.shares import above, held_below, shares_of

REQUESTS, COUNTED_PODS = "requests.", "count/pods"
NOT_OF_PODS = ("limits.", "count/")
"""Prefixes of a quota's resources that are not judged, apart from `count/pods`."""
MOST_NAMED = 2
Names = Mapping[str, str]
"""The kind of accelerators of a resource: `resource_names`."""


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


class Limit(Struct, frozen=True):
    """A limited amount of each resource, for all jobs together."""

    name: str
    most: Amounts = {}
    gang: Amounts = {}  # requested by the pods of the preview that start together
    every: Amounts = {}  # requested by all pods of the preview
    held: Mapping[str, Amounts] = {}  # by each other job
    unknown: str = ""  # why `held` is unknown
    queue: str = ""  # the name, if it is the queue of a job
    stopped: str = ""  # Kueue's policy by which it admits nothing, however much is free
    ignored: str = ""  # a limit that decides too and is not judged

    def lacks(self, names: Names) -> Iterator[Lack]:
        """Yield what the pods of the preview lack by this limit."""
        if self.stopped:
            yield Lack("later", f"{self.name} admits nothing (`stopPolicy: {self.stopped}`)")
        for resource in sorted(self.gang.keys() & self.most.keys()):
            most, held = self.most[resource], {job: each.get(resource, NOTHING) for job, each in self.held.items()}
            free = max(most - sum(held.values(), NOTHING), NOTHING)
            part = self.gang[resource] <= free
            requested = self.every[resource] if part else self.gang[resource]
            needed = (
                f"and {'all pods of the job need' if part else 'the job needs'} {amount(resource, requested, names)}"
            )
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
    earlier: Sequence[Need]
    """Jobs that the same review starts before them."""
    own: Set[str]
    """Names of the jobs whose room is free then."""

    @property
    def every(self) -> list[Need]:
        """Return the jobs that are judged and those before them."""
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
        for quota in (quota for quotas in live.quotas.values() for quota in quotas):
            yield _quota(quota, jobs)
            others = sorted(name for name in quota.hard if name.startswith(NOT_OF_PODS) and name != COUNTED_PODS)
            if others:
                yield Limit(quota.name, ignored=f"{list_names(others)} of the ResourceQuota {quota.name}")
        yield from _kueue(live.kueue or LiveKueue({}, ()), jobs)


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
    here = {need.name for need in jobs.every if need.namespace == quota.namespace}
    limit = jobs.limit(name, most, quota.holders or {}, here)
    return structs.replace(limit, unknown="its pods were not read" if quota.holders is None else "")


def _kueue(kueue: LiveKueue, jobs: Jobs) -> Iterator[Limit]:
    """Yield the LocalQueues and ClusterQueues of the jobs; of a cohort the sum of its queues, which lend each other
    what is free."""
    queues = {queue.name: queue for queue in kueue.cluster_queues}
    for place in dict.fromkeys(need.local_queue for need in jobs.needs if need.local_queue):
        queue = queues.get(kueue.local_queues.get(place, ""))
        ignored = f"the LocalQueue {place}, whose ClusterQueue was not found" if queue is None else ""
        yield Limit(f"the LocalQueue {place}", stopped=kueue.stopped.get(place, ""), ignored=ignored)
        if queue is None:
            continue
        name = f"the ClusterQueue {queue.name}"
        if queue.nested:
            ignored = f"the cohort {queue.cohort}, which has quotas of its own or a parent"
        elif queue.in_part:
            ignored = f"flavors and borrowing limits of the ClusterQueue {queue.name}"
        yield Limit(name, stopped=queue.stopped, ignored=ignored)
        if queue.nested:
            continue
        members = [each for each in queues.values() if each is queue or (queue.cohort and each.cohort == queue.cohort)]
        holders = {job: held for each in members for job, held in each.holders.items()}
        names = {each.name for each in members}
        counted = {need.name for need in jobs.every if kueue.local_queues.get(need.local_queue) in names}
        most = summed(amounts_of(each.nominal) for each in members)
        limit = jobs.limit(f"the cohort {queue.cohort}" if queue.cohort else name, most, holders, counted)
        yield structs.replace(limit, queue=queue.name)
