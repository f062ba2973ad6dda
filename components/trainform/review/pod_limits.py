"""Limits of pods besides nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct, structs

from trainform.cluster.amounts import POD_SLOTS, Amounts, amounts_of, summed
from trainform.cluster.facts import NO_HOLDERS, LiveKueue, LiveQuota
from trainform.review.context import Context
from trainform.review.pod_needs import Need
from trainform.review.shares import above, held_below, shares_of

REQUESTS, COUNTED_PODS = "requests.", "count/pods"
Holders = Mapping[str, Mapping[str, str]]


class Limit(Struct, frozen=True):
    """A limited amount of each resource. asked: by the pods of the preview that start together. every: by all of them.
    most: for all jobs. held: by each other job. unknown: why `held` is unknown. queue: the name, if it is the queue of
    a job."""

    name: str
    asked: Amounts
    every: Amounts
    most: Amounts
    held: Mapping[str, Amounts]
    unknown: str = ""
    queue: str = ""


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

    def limit(self, name: str, most: Amounts, holders: Holders, counted: Set[str]) -> Limit:
        """The limit for the jobs with these names. holders: what each job has of it."""
        needs = [need for need in self.needs if need.name in counted]
        asked, every = summed(need.gang for need in needs), summed(need.every for need in needs)
        held = {job: amounts_of(amounts) for job, amounts in holders.items() if job not in self.own}
        return Limit(
            name, asked, every, most, held | {need.name: need.gang for need in self.earlier if need.name in counted}
        )


def limits(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """Every limit that counts the jobs."""
    live = context.live
    yield from _queues(context, jobs)
    if live is not None:
        yield from (_quota(quota, jobs) for quotas in live.quotas.values() for quota in quotas if not quota.scoped)
        yield from () if live.kueue is None else _kueue(live.kueue, jobs)


def _queues(context: Context, jobs: Jobs) -> Iterator[Limit]:
    """The jobs' queues and those above them, each with all queues below it, as they will be."""
    live, shares = context.live, shares_of(context)
    unknown = "" if live is None else live.not_read.get(NO_HOLDERS, live.not_read.get("queues", ""))
    for queue in dict.fromkeys(need.queue for need in jobs.needs if need.queue):
        for name in (queue, *above(queue, shares)):
            most = amounts_of(shares[name].capability) if name in shares else {}
            below = {need.name for need in jobs.every if name in (need.queue, *above(need.queue, shares))}
            limit = jobs.limit(f"the queue {name}", most, dict(held_below(name, live, shares)), below)
            yield structs.replace(limit, unknown=unknown, queue=name if name == queue else "")


def _quota(quota: LiveQuota, jobs: Jobs) -> Limit:
    """The quota in the resources of pods: `requests.cpu` and `cpu` are one, and the lower one counts."""
    lower_last = sorted(amounts_of(quota.hard).items(), key=lambda each: each[1], reverse=True)
    most = {POD_SLOTS if name == COUNTED_PODS else name.removeprefix(REQUESTS): amount for name, amount in lower_last}
    name = f"the ResourceQuota {quota.name} of the namespace {quota.namespace}"
    holders = {} if quota.holders is None else quota.holders
    limit = jobs.limit(name, most, holders, {need.name for need in jobs.every if need.namespace == quota.namespace})
    return structs.replace(limit, unknown="its pods were not read" if quota.holders is None else "")


def _kueue(kueue: LiveKueue, jobs: Jobs) -> Iterator[Limit]:
    """The ClusterQueues of the jobs; of a cohort the sum of its queues, which lend each other what is free."""
    mine = {queue_of(kueue, need) for need in jobs.needs}
    for queue in (queue for queue in kueue.cluster_queues if queue.name in mine and not queue.nested):
        of_cohort = [each for each in kueue.cluster_queues if each.cohort == queue.cohort]
        members = {each.name: each for each in (of_cohort if queue.cohort else [queue])}
        most = summed(amounts_of(each.nominal) for each in members.values())
        holders = {job: held for each in members.values() for job, held in each.holders.items()}
        name = f"the cohort {queue.cohort}" if queue.cohort else f"the ClusterQueue {queue.name}"
        limit = jobs.limit(name, most, holders, {need.name for need in jobs.every if queue_of(kueue, need) in members})
        yield structs.replace(limit, queue=queue.name)


def queue_of(kueue: LiveKueue, need: Need) -> str:
    """The name of the ClusterQueue of the job's LocalQueue; "" if there is none."""
    return kueue.local_queues.get(f"{need.namespace}/{need.local_queue}", "")


def stopped(kueue: LiveKueue, needs: Sequence[Need]) -> Iterator[str]:
    """Why queues of the jobs admit nothing, however much is free."""
    policies = {f"ClusterQueue {queue.name}": queue.stopped for queue in kueue.cluster_queues}
    policies |= {f"LocalQueue {key}": policy for key, policy in kueue.stopped.items()}
    for need in needs:
        for queue in (f"LocalQueue {need.namespace}/{need.local_queue}", f"ClusterQueue {queue_of(kueue, need)}"):
            if policies.get(queue):
                yield f"the {queue} admits nothing (`stopPolicy: {policies[queue]}`)"
