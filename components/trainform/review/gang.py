"""What is to be placed: the pods of each job that gets other ones, as its namespace makes them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from trainform.cluster.amounts import Amounts, summed
from trainform.cluster.facts import LiveRange
from trainform.manifests.templates import Template
from trainform.review.context import Context, JobReview
from trainform.review.limit_ranges import as_limits, with_defaults
from trainform.review.objects import local_queue_of, metadata_of, own_names, places_pods, queue_of, templates_of
from trainform.review.placement import Group, group_of
from trainform.review.verdicts import total_of

LIMITS = "limits."  # before a resource, in the names of quotas


class WantedJob(Struct, frozen=True):
    """queue: of Volcano's, local_queue: of Kueue's; each "" if the pods wait in none. templates: with what the
    namespace fills in. groups: the pods that start together. every: with those that start when there is room."""

    namespace: str
    queue: str
    local_queue: str
    templates: tuple[Template, ...]
    groups: tuple[Group, ...]
    every: tuple[Group, ...]

    @property
    def asked(self) -> Amounts:
        """What the gang needs, with its limits."""
        return total_of(self.groups) | limits_of(self.templates, every=False)


class Wanted(Struct, frozen=True, dict=True):
    """All of them. own: the jobs that go, or change, whose room is free then. own_limits: the limits of their pods, by
    namespace."""

    jobs: tuple[WantedJob, ...]
    own: frozenset[str]
    own_limits: Mapping[str, Amounts]

    @functools.cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups of pods that start together."""
        return tuple(group for job in self.jobs for group in job.groups)

    @functools.cached_property
    def every(self) -> tuple[Group, ...]:
        """The groups with the pods that start when there is room."""
        return tuple(group for job in self.jobs for group in job.every)


def wanted_of(context: Context) -> Wanted | None:
    """None if the pods of a job are not known."""
    jobs = []
    own: set[str] = set()
    own_limits: dict[str, Amounts] = {}
    for job in context.jobs:
        if not places_pods(job) and not _goes(job):
            continue
        own |= own_names(job)
        namespace = namespace_of(job, context, after=False)
        own_limits[namespace] = summed((own_limits.get(namespace, {}), _limits_before(job, namespace, context)))
        if places_pods(job):
            made = _wanted_job(job, context)
            if made is None:
                return None
            jobs.append(made)
    return Wanted(tuple(jobs), frozenset(own), own_limits)


def _limits_before(job: JobReview, namespace: str, context: Context) -> Amounts:
    """The limits of the pods as they are deployed; nothing where no quota counts them."""
    quotas = () if context.live is None else context.live.quotas.get(namespace, ())
    templates = templates_of(job, context.environment, after=False) if quotas else None
    return limits_of(() if templates is None else templates, every=True)


def _goes(job: JobReview) -> bool:
    """True for a job that the preview deletes, unless it stays in the cluster."""
    step = job.job
    return step is not None and step.operation == "delete" and step.old is not None and not step.old.keep


def _wanted_job(job: JobReview, context: Context) -> WantedJob | None:
    given = templates_of(job, context.environment)
    if given is None:
        return None
    namespace = namespace_of(job, context, after=True)
    templates = tuple(with_defaults(template, ranges_of(context, namespace)) for template in given)
    return WantedJob(
        namespace,
        queue_of(job, after=True),
        local_queue_of(job, after=True),
        templates,
        tuple(_groups(templates, every=False)),
        tuple(_groups(templates, every=True)),
    )


def ranges_of(context: Context, namespace: str) -> tuple[LiveRange, ...]:
    """The LimitRanges of the namespace; none where they were not read."""
    return () if context.live is None else context.live.ranges.get(namespace, ())


def namespace_of(job: JobReview, context: Context, *, after: bool) -> str:
    """The namespace of the job object, before or after."""
    state = None if job.job is None else job.job.new if after else job.job.old
    named = metadata_of(state).get("namespace")
    return str(named) if named else "" if context.environment is None else context.environment.namespace.name


def limits_of(templates: Iterable[Template], *, every: bool) -> Amounts:
    """What the containers may use at most, under the names that quotas have for it."""
    total = total_of(_groups([as_limits(template) for template in templates], every=every))
    return {f"{LIMITS}{name}": amount for name, amount in total.items()}


def _groups(templates: Iterable[Template], *, every: bool) -> Iterator[Group]:
    return (group for template in templates if (group := group_of(template, every=every)) is not None)
