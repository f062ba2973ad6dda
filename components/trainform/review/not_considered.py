"""What decides about room for pods and capacity does not judge, as sentences: where it is said, a verdict that they fit
may be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.cluster.facts import LiveFacts
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review.context import Context, JobReview
from trainform.review.gang import namespace_of
from trainform.review.objects import local_queue_of, places_pods, templates_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITIES = {"nodeAffinity": "node affinity", "podAffinity": "pod affinity", "podAntiAffinity": "pod anti-affinity"}


def not_considered(context: Context) -> Iterator[str]:
    """What of the pods that need room was left out of account. What could not be read is said where all of that is."""
    jobs = [job for job in context.jobs if places_pods(job)]
    for job in jobs:
        yield from _of_pods(job, context)
    for namespace in sorted({namespace_of(job, context, after=True) for job in jobs}):
        yield from _of_quotas(namespace, context.live)
    for job in jobs:
        yield from _of_kueue(job, context)


def _of_quotas(namespace: str, live: LiveFacts | None) -> Iterator[str]:
    for quota in () if live is None else live.quotas.get(namespace, ()):
        if quota.scoped:
            yield (
                f"The ResourceQuota {quota.name} of the namespace {namespace} counts only some pods, and was not "
                "considered."
            )


def _of_kueue(job: JobReview, context: Context) -> Iterator[str]:
    local = local_queue_of(job, after=True)
    if not local or context.live is None:
        return
    kueue = context.live.kueue
    if kueue is None:
        yield f"Kueue admits the job {job.name}, and what its queue {local} may hold was not read."
        return
    name = kueue.local_queues.get(f"{namespace_of(job, context, after=True)}/{local}")
    queue = next((each for each in kueue.cluster_queues if each.name == name), None)
    if queue is None:
        yield f"Kueue admits the job {job.name}, and its LocalQueue {local} leads to no ClusterQueue in the cluster."
    elif queue.nested:
        yield (
            f"The cohort {queue.cohort} of the ClusterQueue {name} has quotas of its own, or a cohort above it: what "
            "the queue may hold was not considered."
        )


def _of_pods(job: JobReview, context: Context) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    templates = templates_of(job, context.environment)
    for template in () if templates is None else templates:
        for rule in _rules(template):
            found.setdefault(rule, []).append(template.role)
    for rule, roles in found.items():
        yield (
            f"The {rule} of the pods of {', '.join(dict.fromkeys(roles))} was not considered, so they may find less "
            "room."
        )


def _rules(template: Template) -> Iterator[str]:
    """The rules of the pods beyond selectors and tolerations."""
    affinity = mapping(template.spec.get("affinity"))
    yield from (name for part, name in AFFINITIES.items() if mapping(affinity.get(part)).get(REQUIRED))
    spread = mappings(template.spec.get("topologySpreadConstraints"))
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spread):
        yield "topology spread"
