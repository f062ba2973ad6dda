"""What the cluster says now, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainform.cluster.amounts import resource_names
from trainform.cluster.facts import NO_HOLDERS, LiveFacts, LiveJob, LiveQueue
from trainform.review.model import LiveFact
from trainform.spec.environment import Environment


def live_facts(live: LiveFacts, environment: Environment | None) -> Iterator[LiveFact]:
    """A sentence for each job and each queue that was read."""
    names = resource_names(environment)
    if live.jobs is not None:
        yield from (LiveFact(object=job.name, sentence=_job(job, live.read_at)) for job in live.jobs)
    if live.queues is not None and NO_HOLDERS not in live.not_read:
        yield from (LiveFact(object=queue.name, sentence=_queue(queue, names)) for queue in live.queues)


def _job(job: LiveJob, read_at: str) -> str:
    pods = ", ".join(f"{count} {phase}" for phase, count in sorted(job.pods.items()) if count)
    since = f", and its first pod has run since {job.started}" if job.started else ""
    return f"At {read_at} the job {job.name} is {job.phase}{since}; pods: {pods if pods else 'none'}."


def _queue(queue: LiveQueue, names: Mapping[str, str]) -> str:
    if not queue.holders:
        return f"In the queue {queue.name} no job holds anything."
    held = "; ".join(f"{job} holds {_amounts(amounts, names)}" for job, amounts in sorted(queue.holders.items()))
    return f"In the queue {queue.name}: {held}."


def _amounts(amounts: Mapping[str, str], names: Mapping[str, str]) -> str:
    return ", ".join(f"{amount} {names.get(resource, resource)}" for resource, amount in sorted(amounts.items()))
