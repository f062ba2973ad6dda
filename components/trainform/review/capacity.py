"""Room for the pods of a preview: sums by queue, quota and node. An estimate, not a reservation."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from trainform import defaults
from trainform.cluster.amounts import NOTHING, amounts_of, resource_names, spelled, summed
from trainform.cluster.facts import NO_HOLDERS
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.model import Capacity, QueueUse, RoleRoom, Shortage
from trainform.review.node_room import Short, admitting, cordoned, kept_out, rooms_of, scarcest, too_few
from trainform.review.objects import places_pods
from trainform.review.pod_limits import Jobs, Limit, limits, queue_of, stopped
from trainform.review.pod_needs import MOST_CONTEXTS, Need, Pods, freed, needs_of
from trainform.review.shares import fair_share, live_queues, offered, shares_of

MOST_HOLDERS, MOST_NAMED = 10, 2
NOT_CONSIDERED = "Not considered: {}."
NOT_OF_PODS = ("limits.", "count/")
"""How resources of a quota begin that no dry run of a pod template counts."""
WORST = ("never", "later", "unknown", "now")


class Lack(Struct, frozen=True):
    """One reason why pods do not start now. asked, missing: of the resource. held: what each other job has of it. part:
    the pods that start together do start, and others wait."""

    word: Literal["never", "later", "unknown", "now"]
    reason: str
    resource: str = ""
    asked: Decimal = NOTHING
    missing: Decimal = NOTHING
    held: Mapping[str, Decimal] = {}
    part: bool = False


@functools.lru_cache(maxsize=MOST_CONTEXTS)
def capacity_of(context: Context) -> Capacity:
    """The room for the pods of all jobs that change, together. It is kept, since later stacks ask for it too."""
    if not any(map(places_pods, context.jobs)):
        return Capacity(verdict="unchanged", sentence="No job needs other room.", basis="none")
    needs = needs_of(context)
    if needs is None or not any(need.pods for need in needs):
        return Capacity(verdict="unknown", sentence="The preview does not show the pods of the job.", basis="none")
    return _Judge(context, needs).capacity()


def is_scaled(context: Context) -> bool:
    """True if jobs only get more pods or fewer, in place."""
    return all(job.job is not None and job.job.operation == "update" for job in context.jobs if places_pods(job))


class _Judge:
    """The judgement of one preview."""

    def __init__(self, context: Context, needs: Sequence[Need]) -> None:
        started = (each for each in context.earlier if capacity_of(each).verdict == "now")
        earlier = [need for each in started for need in needs_of(each) or ()]
        self.context, self.live = context, context.live
        self.jobs = Jobs(needs, earlier, freed(context).union(*map(freed, context.earlier)))
        self.names = resource_names(context.environment)
        self.queue_of = {job: queue for queue in live_queues(self.live) for job in queue.holders}
        self.pods = [pods for need in needs for pods in need.pods]
        self.nodes = None if self.live is None else self.live.nodes
        self.now = rooms_of(self.nodes or (), self.jobs.own)

    def capacity(self) -> Capacity:
        every = [*limits(self.context, self.jobs)]
        lacks = [*(lack for limit in every for lack in self._by_limit(limit)), *self._by_nodes()]
        if self.live is not None and self.live.kueue is not None:
            lacks += (Lack("later", reason) for reason in stopped(self.live.kueue, self.jobs.needs))
        worst = min(lacks, key=self._rank, default=Lack("now", ""))
        same = [lack for lack in lacks if lack.word == worst.word and lack.resource]
        shortages = [self._shortage(lack) for lack in sorted(same, key=self._rank)]
        clause = self._clause(worst)
        without_nodes: Literal["environment", "none"] = "none" if self.context.environment is None else "environment"
        return Capacity(
            verdict=worst.word,
            sentence=self._sentence(worst, clause, shortages),
            clause=clause,
            reason=worst.reason,
            basis=without_nodes if self.nodes is None else "cluster",
            shortages=[each for at, each in enumerate(shortages) if each not in shortages[:at]],
            roles=[*map(self._role, self.pods if self.now else ())],
            queue=next((self._queue(limit) for limit in every if limit.queue and not limit.unknown), None),
        )

    def _rank(self, lack: Lack) -> tuple[int, bool, bool]:
        """The worst first, and accelerators before other resources."""
        return WORST.index(lack.word), lack.part, bool(lack.resource) and lack.resource not in self.names

    # --- arithmetic

    def _by_limit(self, limit: Limit) -> Iterator[Lack]:
        for resource in sorted(limit.asked.keys() & limit.most.keys()):
            asked, most = limit.asked[resource], limit.most[resource]
            held = {job: amounts.get(resource, NOTHING) for job, amounts in limit.held.items()}
            free = max(most - sum(held.values(), NOTHING), NOTHING)
            needed = f"and the job needs {self._amount(resource, asked)}"
            if asked > most:
                reason = f"{limit.name} may hold {self._amount(resource, most)}, {needed}"
                yield Lack("never", reason, resource, asked, asked - most)
            elif asked > free:
                reason = f"{limit.name} has {spelled(resource, free)} of {self._amount(resource, most)} left, {needed}"
                yield Lack("later", reason, resource, asked, asked - free, held)
            elif limit.every[resource] > free:
                every = f"and all pods of the job need {self._amount(resource, limit.every[resource])}"
                reason = f"{limit.name} may hold {self._amount(resource, most)}, {every}"
                others = {} if limit.every[resource] > most else held
                yield Lack("later", reason, resource, limit.every[resource], limit.every[resource] - free, others, True)
            elif limit.unknown:
                yield Lack("unknown", f"what other jobs hold of {limit.name} was not read ({limit.unknown})")

    def _by_nodes(self) -> Iterator[Lack]:
        if self.nodes is None:
            reasons = {} if self.live is None else self.live.not_read
            why = (reasons[what] for what in ("cluster", "nodes", NO_HOLDERS) if what in reasons)
            yield Lack("unknown", next(why, "the nodes of the cluster were not read"))
            return
        shut = next((pods for pods in self.pods if pods.gang and not admitting([pods], self.now)), None)
        if shut is not None:
            yield Lack("never", kept_out(shut, self.nodes))
            return
        before = [pods for need in self.jobs.earlier for pods in need.pods]
        short = too_few(self.pods, (), rooms_of(self.nodes, None), attrgetter("gang"))
        if short is not None:
            reason = f"{self._reason(short, '')}{cordoned(self.nodes)}"
            yield Lack("never", reason, short.resource, short.asked, short.missing)
            return
        for part in (False, True):
            short = too_few(self.pods, before, self.now, attrgetter("every" if part else "gang"))
            if short is not None:
                reason, held = self._reason(short, " now"), self._held(short)
                yield Lack("later", reason, short.resource, short.asked, short.missing, held, part)
                return

    def _held(self, short: Short) -> dict[str, Decimal]:
        """What each other job holds of the resource on the nodes, and those that the same review starts before."""
        on_nodes = (
            {job: amounts_of(held).get(short.resource, NOTHING)}
            for node in short.nodes
            for job, held in node.holders.items()
            if job not in self.jobs.own
        )
        return summed([*on_nodes, {need.name: need.gang.get(short.resource, NOTHING) for need in self.jobs.earlier}])

    def _evicts(self, lack: Lack) -> Iterator[str]:
        """The holders that a scheduler may evict for the job: of lower priority in its queue, or in a queue above its
        share while the job's queue stays within its own."""
        need, live, shares = self.jobs.needs[0], self.live, shares_of(self.context)
        if live is None or lack.word != "later" or need.queue not in shares:
            return
        total = offered(live)
        room = {name: fair_share(name, lack.resource, shares, total) for name in shares}
        for queue in live_queues(live):
            held = (amounts_of(held) for job, held in queue.holders.items() if job not in self.jobs.own)
            room[queue.name] = room.get(queue.name, NOTHING) - summed(held).get(lack.resource, NOTHING)
        for job in _largest_first(lack.held):
            of_job = self.queue_of.get(job)
            if of_job is None or job in of_job.firm:
                continue
            if of_job.name == need.queue:
                evicts = need.priority is not None and live.priorities.get(job, 0) < need.priority
            else:
                evicts = of_job.reclaimable and room[of_job.name] < 0 and lack.asked <= room[need.queue]
            if evicts:
                yield self._job(job)

    def _role(self, pods: Pods) -> RoleRoom:
        here = admitting([pods], self.now)
        resource, fitting = scarcest(pods, here), [pods.fit(room.free) for room in here]
        largest = max((room.free.get(resource, NOTHING) for room in here), default=NOTHING)
        return RoleRoom(
            role=pods.role,
            pods=pods.every,
            fit=min(sum(fitting), pods.every),
            nodes=sum(map(bool, fitting)),
            resource=self._name(resource),
            largest=spelled(resource, max(largest, NOTHING)),
        )

    def _queue(self, limit: Limit) -> QueueUse | None:
        if self.live is None:
            return None
        resource = max(limit.asked.keys() & self.names.keys(), key=lambda name: limit.asked[name], default="cpu")
        held, requested = summed(limit.held.values()).get(resource, 0), limit.every.get(resource, 0)
        most = float(limit.most[resource]) if resource in limit.most else None
        return QueueUse(
            name=limit.queue,
            resource=self._name(resource),
            held=float(held),
            requested=float(requested),
            capability=most,
        )

    # --- words

    def _name(self, resource: str) -> str:
        return self.names.get(resource, resource)

    def _amount(self, resource: str, amount: Decimal) -> str:
        return f"{spelled(resource, amount)} {self._name(resource)}"

    def _reason(self, short: Short, now: str) -> str:
        resource = short.resource
        if short.each > short.largest:
            largest, each = spelled(resource, max(short.largest, NOTHING)), self._amount(resource, short.each)
            return f"a pod of {short.role} needs {each}, and no node has more than {largest}{now}"
        there = self._amount(resource, max(short.asked - short.missing, NOTHING))
        return f"the nodes have room for {there}{now}, and the job needs {self._amount(resource, short.asked)}"

    def _clause(self, lack: Lack) -> str:
        """What the new job does, to stand after its name: `waits for 8 a800 held by clip-77aa01`."""
        if lack.word in ("now", "unknown"):
            return ""
        if lack.part and not lack.held:
            part = "gets only a part of its new pods" if is_scaled(self.context) else "starts with a part of its pods"
            return f"{part}: {lack.reason}"
        if not lack.resource or lack.word == "never":
            return f"{'never starts' if lack.word == 'never' else 'waits'}: {lack.reason}"
        jobs = _largest_first(lack.held)
        more = [f"{len(jobs) - MOST_NAMED} more"] if len(jobs) > MOST_NAMED else []
        by = f" held by {' and '.join([*map(self._job, jobs[:MOST_NAMED]), *more])}" if jobs else ""
        waits = f"for {self._amount(lack.resource, lack.missing)}{by}"
        if is_scaled(self.context):
            return f"gets its new pods later: they wait {waits}"
        return f"starts with a part of its pods; the others wait {waits}" if lack.part else f"waits {waits}"

    def _sentence(self, lack: Lack, clause: str, shortages: Sequence[Shortage]) -> str:
        if lack.word == "now":
            count, asked = sum(pods.gang for pods in self.pods), summed(need.gang for need in self.jobs.needs)
            held = [self._amount(name, asked[name]) for name in sorted(asked.keys() & self.names.keys())]
            pods = f"{count} pod{'' if count == 1 else 's'}"
            return f"Fits now: {list_names([pods, *held])}."
        if lack.word == "unknown":
            return f"It is unknown whether the pods fit: {lack.reason}."
        more = f": {lack.reason}" if lack.word == "later" and lack.resource else ""
        evicts = [*dict.fromkeys(job for shortage in shortages for job in shortage.evicts)]
        may = f" A scheduler with the action `preempt` or `reclaim` may evict {list_names(evicts)}." if evicts else ""
        return f"{clause[0].upper()}{clause[1:]}{more}.{may}"

    def _job(self, job: str) -> str:
        """The name of the job, without the namespace of the preview's own jobs."""
        namespace, _, name = job.partition("/")
        return name if namespace in {need.namespace for need in self.jobs.needs} else job

    def _shortage(self, lack: Lack) -> Shortage:
        priorities = {} if self.live is None else self.live.priorities
        holders = []
        for job in _largest_first(lack.held):
            facts = [f"queue {self.queue_of[job].name}"] if job in self.queue_of else []
            facts += [f"priority {priorities[job]}"] if job in priorities else []
            beside = f" ({list_names(facts)})" if facts else ""
            holders.append(f"{job}: {spelled(lack.resource, lack.held[job])}{beside}")
        more = [f"and {len(holders) - MOST_HOLDERS} more"] if len(holders) > MOST_HOLDERS else []
        return Shortage(
            resource=self._name(lack.resource),
            asked=spelled(lack.resource, lack.asked),
            available=spelled(lack.resource, max(lack.asked - lack.missing, NOTHING)),
            missing=spelled(lack.resource, lack.missing),
            holders=[*holders[:MOST_HOLDERS], *more],
            evicts=[*self._evicts(lack)],
        )


def _largest_first(held: Mapping[str, Decimal]) -> list[str]:
    return sorted((job for job in held if held[job] > 0), key=lambda job: (-held[job], job))


def not_considered(context: Context) -> Iterator[str]:
    """A sentence for each thing that decides about room and is not judged: with it, pods that fit may wait."""
    live = context.live
    for need in needs_of(context) or ():
        yield from map(NOT_CONSIDERED.format, need.rules)
        for quota in () if live is None else live.quotas.get(need.namespace, ()):
            if quota.scoped:
                yield NOT_CONSIDERED.format(f"the ResourceQuota {quota.name}, which counts only some pods")
            others = sorted(name for name in quota.hard if name.startswith(NOT_OF_PODS))
            if others:
                yield NOT_CONSIDERED.format(f"{list_names(others)} of the ResourceQuota {quota.name}")
        kept = sorted(
            each.name
            for each in live_queues(live)
            if any(amounts_of(each.guarantee).values()) and each.name not in (need.queue, defaults.ROOT_QUEUE)
        )
        if need.queue and kept:
            yield NOT_CONSIDERED.format(f"the `guarantee` of other queues: {list_names(kept, MOST_NAMED)}")
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
