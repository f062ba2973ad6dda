"""Room for the pods of a preview: sums by queue, quota and node. An estimate, not a reservation."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from trainform.cluster.amounts import NOTHING, POD_SLOTS, amounts_of, resource_names, spelled, summed
from trainform.cluster.facts import NO_HOLDERS
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.effects import counted
from trainform.review.model import Capacity, QueueUse, RoleRoom, Shortage
from trainform.review.node_room import Short, admitting, cordoned, kept_out, rooms_of, scarcest, too_few
from trainform.review.objects import places_pods
from trainform.review.pod_limits import MOST_NAMED, Jobs, Limit, limits
from trainform.review.pod_needs import MOST_CONTEXTS, Need, Pods, freed, needs_of
from trainform.review.shares import fair_share, offered, shares_of

MOST_HOLDERS = 10
WORST = ("never", "later", "unknown", "now")


class Lack(Struct, frozen=True):
    """One reason why pods do not start now."""

    word: Literal["never", "later", "unknown", "now"]
    reason: str
    resource: str = ""
    asked: Decimal = NOTHING
    missing: Decimal = NOTHING
    held: Mapping[str, Decimal] = {}  # what each other job has of the resource
    part: bool = False  # the pods that start together do start, and others wait


@functools.lru_cache(maxsize=MOST_CONTEXTS)
def capacity_of(context: Context) -> Capacity:
    """Return the room for the pods of all jobs that change, together. It is kept, since later stacks ask for it too."""
    if not any(map(places_pods, context.jobs)):
        return Capacity(verdict="unchanged", sentence="No job needs other room.", basis="none")
    needs = needs_of(context)
    if needs is None or not any(need.pods for need in needs):
        return Capacity(verdict="unknown", sentence="The preview does not show the pods of the job.", basis="none")
    return _Judge(context, needs).capacity()


def not_considered(context: Context) -> Iterator[str]:
    """Yield a sentence for each thing that decides about room and is not judged: with it, pods that fit may wait."""
    needs = needs_of(context)
    if needs:
        rules = [rule for need in needs for rule in need.rules]
        rules += [limit.ignored for limit in limits(context, _jobs(context, needs)) if limit.ignored]
        yield from (f"Not considered: {rule}." for rule in dict.fromkeys(rules))


def is_scaled(context: Context) -> bool:
    """Return True if jobs only get more pods or fewer, in place."""
    return all(job.job is not None and job.job.operation == "update" for job in context.jobs if places_pods(job))


def _jobs(context: Context, needs: Sequence[Need]) -> Jobs:
    started = (each for each in context.earlier if capacity_of(each).verdict == "now")
    earlier = [need for each in started for need in needs_of(each) or ()]
    return Jobs(needs, earlier, freed(context).union(*map(freed, context.earlier)))


class _Judge:
    """The judgement of one preview."""

    def __init__(self, context: Context, needs: Sequence[Need]) -> None:
        self.context, self.live = context, context.live
        self.jobs, self.shares = _jobs(context, needs), shares_of(context)
        self.names = resource_names(context.environment)
        self.queue_of = {job: queue for queue in self.shares.values() for job in queue.holders}
        self.priorities = {} if self.live is None else self.live.priorities
        self.pods = [pods for need in needs for pods in need.pods]
        self.nodes = None if self.live is None else self.live.nodes
        self.now = rooms_of(self.nodes or (), self.jobs.own)

    def capacity(self) -> Capacity:
        every = [*limits(self.context, self.jobs)]
        lacks = [*(lack for limit in every for lack in self._by_limit(limit)), *self._by_nodes()]
        worst = min(lacks, key=self._rank, default=Lack("now", ""))
        same = [lack for lack in lacks if lack.word == worst.word and lack.resource]
        shortages = [self._shortage(lack) for lack in sorted(same, key=self._rank)]
        clause = self._clause(worst)
        return Capacity(
            verdict=worst.word,
            sentence=self._sentence(worst, clause, shortages),
            clause=clause,
            reason=worst.reason,
            basis="none" if self.nodes is None else "cluster",
            shortages=[each for at, each in enumerate(shortages) if each not in shortages[:at]],
            roles=[*map(self._role, self.pods if self.now else ())],
            queue=next((self._queue(limit) for limit in every if limit.queue and not limit.unknown), None),
        )

    def _rank(self, lack: Lack) -> tuple[int, bool, bool]:
        """The worst first, and accelerators before other resources."""
        return WORST.index(lack.word), lack.part, bool(lack.resource) and lack.resource not in self.names

    # --- arithmetic

    def _by_limit(self, limit: Limit) -> Iterator[Lack]:
        if limit.stopped:
            yield Lack("later", f"{limit.name} admits nothing (`stopPolicy: {limit.stopped}`)")
        for resource in sorted(limit.asked.keys() & limit.most.keys()):
            most = limit.most[resource]
            held = {job: amounts.get(resource, NOTHING) for job, amounts in limit.held.items()}
            free = max(most - sum(held.values(), NOTHING), NOTHING)
            for part, asked in ((False, limit.asked[resource]), (True, limit.every[resource])):
                needed = (
                    f"and {'all pods of the job need' if part else 'the job needs'} {self._amount(resource, asked)}"
                )
                if asked > most:
                    reason = f"{limit.name} may hold {self._amount(resource, most)}, {needed}"
                    yield Lack("later" if part else "never", reason, resource, asked, asked - most, part=part)
                    break
                if asked > free:
                    left = f"{limit.name} has {spelled(resource, free)} of {self._amount(resource, most)} left"
                    yield Lack("later", f"{left}, {needed}", resource, asked, asked - free, held, part)
                    break
            else:
                if limit.unknown:
                    yield Lack("unknown", f"what other jobs hold of {limit.name} was not read ({limit.unknown})")

    def _by_nodes(self) -> Iterator[Lack]:
        if self.nodes is None:
            reasons = {} if self.live is None else self.live.not_read
            why = (reasons[what] for what in ("cluster", "nodes", NO_HOLDERS) if what in reasons)
            yield Lack("unknown", next(why, "the nodes of the cluster were not read"))
            return
        gang, every = ([(pods, getattr(pods, count)) for pods in self.pods] for count in ("gang", "every"))
        shut = next((pods for pods, count in gang if count and not admitting([(pods, count)], self.now)), None)
        if shut is not None:
            yield Lack("never", kept_out(shut, self.nodes))
            return
        empty = too_few(gang, (), rooms_of(self.nodes, None))
        if empty is not None:
            reason = f"{self._reason(empty, '')}{cordoned(self.nodes)}"
            yield Lack("never", reason, empty.resource, empty.asked, empty.missing)
            return
        before = [(pods, pods.gang) for need in self.jobs.earlier for pods in need.pods]
        for part, groups in ((False, gang), (True, every)):
            short = too_few(groups, before, self.now)
            if short is not None:
                held, reason = self._held(short), self._reason(short, " now")
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
        need = self.jobs.needs[0]
        if self.live is None or lack.word != "later" or need.queue not in self.shares:
            return
        total = offered(self.live)

        @functools.cache
        def room(name: str) -> Decimal:
            held = (amounts_of(held) for job, held in self.shares[name].holders.items() if job not in self.jobs.own)
            return fair_share(name, lack.resource, self.shares, total) - summed(held).get(lack.resource, NOTHING)

        for job in _largest_first(lack.held):
            queue = self.queue_of.get(job)
            if queue is None or job in queue.firm:
                continue
            if queue.name == need.queue:
                evicts = need.priority is not None and self.priorities.get(job, 0) < need.priority
            else:
                evicts = queue.reclaimable and room(queue.name) < 0 and lack.asked <= room(need.queue)
            if evicts:
                yield self._job(job)

    def _role(self, pods: Pods) -> RoleRoom:
        here = admitting([(pods, pods.every)], self.now)
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
        return QueueUse(
            name=limit.queue,
            resource=self._name(resource),
            held=float(summed(limit.held.values()).get(resource, 0)),
            requested=float(limit.every.get(resource, 0)),
            capability=float(limit.most[resource]) if resource in limit.most else None,
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
        scaled = is_scaled(self.context)
        if lack.part and not lack.held:
            return (
                f"{'gets only a part of its new pods' if scaled else 'starts with a part of its pods'}: {lack.reason}"
            )
        if lack.word == "never" or not lack.resource:
            return f"{'never starts' if lack.word == 'never' else 'waits'}: {lack.reason}"
        jobs = _largest_first(lack.held)
        more = [f"{len(jobs) - MOST_NAMED} more"] if len(jobs) > MOST_NAMED else []
        by = f" held by {' and '.join([*map(self._job, jobs[:MOST_NAMED]), *more])}" if jobs else ""
        waits = f"for {self._amount(lack.resource, lack.missing)}{by}"
        if scaled:
            return f"gets its new pods later: they wait {waits}"
        return f"starts with a part of its pods; the others wait {waits}" if lack.part else f"waits {waits}"

    def _sentence(self, lack: Lack, clause: str, shortages: Sequence[Shortage]) -> str:
        if lack.word == "now":
            asked = summed(need.gang for need in self.jobs.needs)
            held = [self._amount(name, asked[name]) for name in sorted(asked.keys() & self.names.keys())]
            return f"Fits now: {list_names([counted(int(asked[POD_SLOTS]), 'pod'), *held])}."
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
        holders = []
        for job in _largest_first(lack.held):
            facts = [f"queue {self.queue_of[job].name}"] if job in self.queue_of else []
            facts += [f"priority {self.priorities[job]}"] if job in self.priorities else []
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
