"""Room for the pods of a preview: sums by queue, quota and node. An estimate, not a reservation."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import structs

from trainform.cluster.amounts import NOTHING, POD_SLOTS, amounts_of, resource_names, spelled, summed, without
from trainform.cluster.facts import NO_HOLDERS, Holder, LiveFacts
from trainform.console.sections import counted
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.job_change import job_change
from trainform.review.job_objects import places_pods
from trainform.review.model import Capacity, RoleRoom, Shortage
from trainform.review.node_room import admitting, lack_of_nodes, largest, rooms_of, scarcest
from trainform.review.pod_limits import MOST_NAMED, Jobs, Lack, amount, limits
from trainform.review.pod_needs import Need, Pods, freed, needs_of
from trainform.review.shares import shares_of, unused_share

WORST = ("never", "later", "unknown", "now")


@functools.cache
def capacity_of(context: Context) -> Capacity:
    """Return the room for the pods of all jobs that change, together. It is kept, since later stacks ask for it too."""
    if not any(map(places_pods, context.jobs)):
        return Capacity(verdict="unchanged", sentence="No job needs other room.", basis="none")
    needs = needs_of(context)
    if needs is None or not any(need.pods for need in needs):
        return Capacity(verdict="unknown", sentence="The preview does not show the pods of the job.", basis="none")
    return Estimate(context, needs).capacity()


def is_scaled(context: Context) -> bool:
    """Return True if jobs only get more pods or fewer, in place."""
    return all(job_change(context, job).kind in ("update", "scale") for job in context.jobs if places_pods(job))


def _jobs(context: Context, needs: Sequence[Need]) -> Jobs:
    possible = (each for each in context.earlier if capacity_of(each).verdict != "never")  # one that waits is first
    earlier = [need for each in possible for need in needs_of(each) or ()]
    return Jobs(needs, earlier, freed(context).union(*map(freed, context.earlier)))


class Estimate:
    """The room for the jobs of one preview."""

    def __init__(self, context: Context, needs: Sequence[Need]) -> None:
        self.context, self.live = context, LiveFacts("") if context.live is None else context.live
        self.jobs, self.shares = _jobs(context, needs), shares_of(context)
        self.limits = [*limits(context, self.jobs)]
        self.names = resource_names(context.environment)
        self.queue_of = {job: queue for queue in self.shares.values() for job in queue.holders}
        self.queue_names = {job: queue.name for queue in self.live.kueue.cluster_queues for job in queue.holders}
        self.queue_names |= {job: queue.name for job, queue in self.queue_of.items()}
        self.nodes = self.live.nodes

    def capacity(self) -> Capacity:
        lacks = self.lacks()
        ahead = [] if lacks else self.ahead()
        worst = lacks[0] if lacks else Lack("now", f"behind {list_names(ahead, MOST_NAMED)}" if ahead else "")
        shortages = [self._shortage(lack) for lack in lacks if lack.verdict == worst.verdict and lack.resource]
        clause = self._clause(worst)
        return Capacity(
            verdict=worst.verdict,
            sentence=self._sentence(worst, clause, shortages),
            clause=clause,
            reason=worst.reason,
            basis="none" if self.nodes is None else "cluster",
            shortages=[each for at, each in enumerate(shortages) if each not in shortages[:at]],
            roles=[self.role(pods) for need in self.jobs.needs for pods in need.pods if self.nodes],
        )

    def lacks(self) -> list[Lack]:
        """Return why the pods do not all start now, the worst first."""
        found = ((limit.object, lack) for limit in self.limits for lack in limit.lacks(self.names))
        by_limit = (structs.replace(lack, object=of) for of, lack in found)
        return sorted([*by_limit, *filter(None, [self._lack_of_nodes()])], key=self._rank)

    def _rank(self, lack: Lack) -> tuple[int, bool, int, Decimal]:
        """Sort the worst first: a stopped queue, then accelerators by what is missing, then other resources."""
        order = 0 if not lack.resource else 1 if lack.resource in self.names else 2
        return WORST.index(lack.verdict), lack.part, order, -lack.missing if order == 1 else NOTHING

    def _lack_of_nodes(self) -> Lack | None:
        if self.nodes is not None:
            return lack_of_nodes(self.jobs, self.nodes, self.names)
        reasons = self.live.not_read
        why = (reasons[what] for what in ("cluster", "nodes", NO_HOLDERS) if what in reasons)
        return Lack("unknown", next(why, "the nodes of the cluster were not read"))

    def ahead(self) -> list[str]:
        """Return the jobs that wait already, and that leave too little room if they start first."""
        free = summed(free for _, free in rooms_of(self.nodes or (), self.jobs.own))
        left = without(free, summed(need.gang for need in self.jobs.needs))
        waiting = {job: amounts_of(held) for job, held in self.live.waiting.items()}
        first = [job for job, held in waiting.items() if any(left.get(name, 0) < held[name] for name in held)]
        possible = [job for job in first if all(held <= free.get(name, 0) for name, held in waiting[job].items())]
        own = self.jobs.own | {need.name for need in self.jobs.needs}
        return [self._job(job) for job in possible if job not in own]

    def role(self, pods: Pods) -> RoleRoom:
        """Return how many pods of the role fit now."""
        here = admitting([(pods, pods.every)], rooms_of(self.nodes or (), self.jobs.own))
        resource, fitting = scarcest(pods, here), [pods.fit(free) for _, free in here]
        return RoleRoom(
            role=pods.role,
            pods=pods.every,
            fit=min(sum(fitting), pods.every),
            nodes=sum(map(bool, fitting)),
            resource=self.names.get(resource, resource),
            largest=spelled(resource, max(largest(resource, here), NOTHING)),
        )

    def _shortage(self, lack: Lack) -> Shortage:
        return Shortage(
            resource=self.names.get(lack.resource, lack.resource),
            asked=spelled(lack.resource, lack.requested),
            available=spelled(lack.resource, max(lack.requested - lack.missing, NOTHING)),
            missing=spelled(lack.resource, lack.missing),
            holders=[holder.text for holder in self.holders(lack)],
            evicts=[*map(self._job, self.evicts(lack))],
        )

    def holders(self, lack: Lack) -> list[Holder]:
        """Return the jobs that hold the resource, those with most first."""
        return [
            Holder(
                job,
                spelled(lack.resource, lack.held[job]),
                self.queue_names.get(job, ""),
                self.live.priorities.get(job),
            )
            for job in _largest_first(lack.held)
        ]

    def evicts(self, lack: Lack) -> Iterator[str]:
        """Yield the holders that a scheduler may evict for the job: of lower priority in its queue, or in a queue above
        its share while the job's queue stays within its own."""
        need = self.jobs.needs[0]
        if lack.verdict != "later" or need.queue not in self.shares:
            return
        unused = unused_share(self.shares, lack.resource, self.jobs.own, self.live)
        for job in _largest_first(lack.held):
            queue = self.queue_of.get(job)
            if queue is None or job in queue.firm:
                continue
            if queue.name != need.queue:
                evicts = queue.reclaimable and unused[queue.name] < 0 and lack.requested <= unused[need.queue]
            else:
                evicts = need.priority is not None and self.live.priorities.get(job, 0) < need.priority
            if evicts:
                yield job

    # --- words

    def _job(self, job: str) -> str:
        """Return the name of the job, without the namespace of the preview's own jobs."""
        namespace, _, name = job.partition("/")
        return name if namespace in {need.namespace for need in self.jobs.needs} else job

    def _clause(self, lack: Lack) -> str:
        """Return what the new job does, to stand after its name: `waits for 8 a800 held by clip-77aa01`."""
        if lack.verdict in ("now", "unknown"):
            return f"may wait {lack.reason}" if lack.verdict == "now" and lack.reason else ""
        scaled = is_scaled(self.context)
        if lack.part and not lack.held:
            starts = "gets only a part of its new pods" if scaled else "starts with a part of its pods"
            return f"{starts}: {lack.reason}"
        if lack.verdict == "never" or not lack.resource:
            return f"{'never starts' if lack.verdict == 'never' else 'waits'}: {lack.reason}"
        jobs = [*map(self._job, _largest_first(lack.held))]
        if len(jobs) > MOST_NAMED:
            jobs[MOST_NAMED:] = [f"{len(jobs) - MOST_NAMED} more"]
        by = f" held by {' and '.join(jobs)}" if jobs else ""
        waits = f"for {amount(lack.resource, lack.missing, self.names)}{by}"
        if scaled:
            return f"gets its new pods later: they wait {waits}"
        return f"starts with a part of its pods; the others wait {waits}" if lack.part else f"waits {waits}"

    def _sentence(self, lack: Lack, clause: str, shortages: Sequence[Shortage]) -> str:
        if lack.verdict == "now":
            gang = summed(need.gang for need in self.jobs.needs)
            held = [amount(name, gang[name], self.names) for name in sorted(gang.keys() & self.names.keys())]
            first = f", and may wait {lack.reason}, which can take its room" if lack.reason else ""
            return f"Fits now: {list_names([counted(int(gang[POD_SLOTS]), 'pod'), *held])}{first}."
        if lack.verdict == "unknown":
            return f"It is unknown whether the pods fit: {lack.reason}."
        more = f": {lack.reason}" if lack.verdict == "later" and lack.resource and lack.reason not in clause else ""
        evicts = [*dict.fromkeys(job for shortage in shortages for job in shortage.evicts)]
        may = f" A scheduler with the action `preempt` or `reclaim` may evict {list_names(evicts)}." if evicts else ""
        return f"{clause[0].upper()}{clause[1:]}{more}.{may}"


def _largest_first(held: Mapping[str, Decimal]) -> list[str]:
    return sorted((job for job in held if held[job] > 0), key=lambda job: (-held[job], job))
