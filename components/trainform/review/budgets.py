"""What pods take a part of besides nodes: the queues of Volcano, the quotas of their namespaces, the queues of
Kueue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, summed
from trainform.cluster.facts import NO_HOLDERS, LiveClusterQueue, LiveFacts, LiveQueue, LiveQuota
from trainform.manifests.templates import RESOURCE_FIELDS, resource_amounts
from trainform.review.context import Context
from trainform.review.gang import LIMITS, Wanted, WantedJob, ranges_of
from trainform.review.limit_ranges import refused
from trainform.review.shares import above, shares_of
from trainform.review.verdicts import Budget, Names, Verdict, judged

REQUESTS, COUNTED_PODS = "requests.", "count/pods"
TO_BE_SAID = ("cpu", "memory")
"""Resources that every container must name where a quota counts them."""


def by_budgets(context: Context, wanted: Wanted, names: Names) -> Iterator[Verdict]:
    """What each of them answers. What the queues of the jobs refuse, the queues above them need not say again."""
    shares = shares_of(context)
    holding = [queue.name for queue in _live_queues(context.live) if queue.holders]
    lines = {name: frozenset((name, *above(name, shares))) for name in {*holding, *(job.queue for job in wanted.jobs)}}
    queues = {job.queue for job in wanted.jobs} - {""}
    higher = frozenset[str]().union(*(lines[name] for name in queues)) - queues

    def verdicts(chosen: Iterable[str]) -> Iterator[Verdict]:
        for name in sorted(chosen):
            most = shares[name].capability if name in shares else {}
            yield from judged(_queue(name, context, wanted, lines, most), names)

    own = [*verdicts(queues)]
    yield from own
    if not own:
        yield from verdicts(higher)
    for job in wanted.jobs:
        for template in job.templates:
            yield from refused(template, ranges_of(context, job.namespace), names)
    for quota, jobs in _quotas(context, wanted):
        yield from _unsaid(quota, jobs)
        yield from judged(_quota(quota, jobs, wanted), names)
    yield from _stopped(context, wanted)
    for budget in _of_kueue(context, wanted):
        yield from judged(budget, names)


# --- Volcano's queues


def _queue(
    name: str,
    context: Context,
    wanted: Wanted,
    lines: Mapping[str, frozenset[str]],
    most: Amounts,
) -> Budget:
    """A queue with all queues below it, as they will be. lines: a queue that is used, and all above it."""
    held: dict[str, Amounts] = {}
    for queue in _live_queues(context.live):
        if name in lines.get(queue.name, ()):
            for job, amounts in _others(queue.holders, wanted).items():
                held[job] = summed((held.get(job, {}), amounts))
    return Budget(
        name=f"The queue {name}",
        said=f"The queue {name} may hold",
        asked=summed(job.asked for job in wanted.jobs if name in lines[job.queue]),
        most=most,
        taken=None if _unknown(context.live) else summed(held.values()),
        held=held,
        unknown=_unknown(context.live),
    )


def _live_queues(live: LiveFacts | None) -> tuple[LiveQueue, ...]:
    return () if live is None or live.queues is None else (*live.queues, *live.other_queues)


def _unknown(live: LiveFacts | None) -> str:
    """Why nobody knows what is taken, where the cluster was read; "" if it is known, or if nothing was read."""
    if live is None or live.nodes is None:
        return ""
    return live.not_read.get(NO_HOLDERS, live.not_read.get("queues", ""))


def _others(holders: Mapping[str, Mapping[str, str]], wanted: Wanted) -> dict[str, Amounts]:
    return {job: amounts_of(amounts) for job, amounts in holders.items() if job not in wanted.own}


# --- the namespaces' quotas


def _quotas(context: Context, wanted: Wanted) -> Iterator[tuple[LiveQuota, list[WantedJob]]]:
    """Each quota with the jobs in its namespace. One that counts only some pods is left out, and said to be."""
    for namespace in sorted({job.namespace for job in wanted.jobs}):
        jobs = [job for job in wanted.jobs if job.namespace == namespace]
        found = () if context.live is None else context.live.quotas.get(namespace, ())
        yield from ((quota, jobs) for quota in found if not quota.scoped)


def _quota(quota: LiveQuota, jobs: Iterable[WantedJob], wanted: Wanted) -> Budget:
    """The quota in the resources of pods: `requests.cpu` and `cpu` are one."""
    held = {} if quota.holders is None else _others(quota.holders, wanted)
    return Budget(
        name=f"The ResourceQuota {quota.name} of the namespace {quota.namespace}",
        said=f"The ResourceQuota {quota.name} of the namespace {quota.namespace} allows",
        asked=summed(job.asked for job in jobs),
        most=_of_pods(quota.hard, min),
        taken=_taken(quota, wanted),
        held=held,
    )


def _taken(quota: LiveQuota, wanted: Wanted) -> Amounts | None:
    """What others have of it: all that is used, without what the jobs have that go. None if that is not known."""
    used = _of_pods(quota.used, max)
    if quota.holders is None or not used:
        return None
    going = [amounts_of(amounts) for job, amounts in quota.holders.items() if job in wanted.own]
    free = summed([*going, wanted.own_limits.get(quota.namespace, {}) if going else {}])
    return {name: max(amount - free.get(name, NOTHING), NOTHING) for name, amount in used.items()}


def _of_pods(given: Mapping[str, str], choose: Callable[[Decimal, Decimal], Decimal]) -> Amounts:
    """Amounts under the names that pods have for their resources."""
    found: Amounts = {}
    for name, amount in amounts_of(given).items():
        resource = POD_SLOTS if name == COUNTED_PODS else name.removeprefix(REQUESTS)
        found[resource] = amount if resource not in found else choose(found[resource], amount)
    return found


def _unsaid(quota: LiveQuota, jobs: Iterable[WantedJob]) -> Iterator[Verdict]:
    """Pods that the quota refuses, since a container does not say how much it takes."""
    counted = {name.removeprefix(REQUESTS) for name in quota.hard}
    for template in (template for job in jobs for template in job.templates):
        for where, container in template.named_containers():
            asked = {
                f"{LIMITS if field == 'limits' else ''}{name}"
                for field in RESOURCE_FIELDS
                for name in resource_amounts(container, field)
            }
            asked |= {name.removeprefix(LIMITS) for name in asked}  # a limit is a request too
            wanted = {f"{prefix}{name}" for prefix in ("", LIMITS) for name in TO_BE_SAID} & counted
            if wanted - asked:
                yield Verdict(
                    "never",
                    f"The ResourceQuota {quota.name} of the namespace {quota.namespace} refuses the pods of "
                    f"{template.role}: the container {where.rpartition('.')[2]} does not say its "
                    f"{' and '.join(sorted(wanted - asked))}.",
                )


# --- Kueue's queues


def _stopped(context: Context, wanted: Wanted) -> Iterator[Verdict]:
    """Queues that admit nothing until somebody lets them, however much is free."""
    kueue = None if context.live is None else context.live.kueue
    if kueue is None:
        return
    of_cluster = {queue.name: queue.stopped for queue in kueue.cluster_queues}
    found: dict[str, str] = {}
    for job in wanted.jobs:
        key = f"{job.namespace}/{job.local_queue}"
        name = kueue.local_queues.get(key, "")
        found[f"LocalQueue {job.local_queue} of the namespace {job.namespace}"] = kueue.stopped.get(key, "")
        found[f"ClusterQueue {name}"] = of_cluster.get(name, "")
    for queue, policy in found.items():
        if policy:
            yield Verdict("later", f"The {queue} admits nothing until somebody takes back its `stopPolicy: {policy}`.")


def _of_kueue(context: Context, wanted: Wanted) -> Iterator[Budget]:
    kueue = None if context.live is None else context.live.kueue
    if kueue is None:
        return
    queues = {queue.name: queue for queue in kueue.cluster_queues}
    asked: dict[str, list[Amounts]] = {}
    for job in wanted.jobs:
        name = kueue.local_queues.get(f"{job.namespace}/{job.local_queue}", "")
        if name in queues and not queues[name].nested:
            asked.setdefault(name, []).append(job.asked)
    for name, amounts in sorted(asked.items()):
        if not queues[name].cohort:
            yield _sum_of(f"The ClusterQueue {name}", [queues[name]], summed(amounts), wanted)
    for cohort in sorted({queues[name].cohort for name in asked} - {""}):
        members = [queue for queue in queues.values() if queue.cohort == cohort]
        amounts = [each for queue in members for each in asked.get(queue.name, ())]
        yield _sum_of(f"The cohort {cohort}", members, summed(amounts), wanted)


def _sum_of(said: str, queues: list[LiveClusterQueue], asked: Amounts, wanted: Wanted) -> Budget:
    """What the queues have together. How much each of a cohort may borrow of the others is left to Kueue."""
    held = {job: amounts for queue in queues for job, amounts in _others(queue.holders, wanted).items()}
    most = summed(amounts_of(queue.nominal) for queue in queues)
    return Budget(said, f"{said} may hold", asked, most, summed(held.values()), held)
