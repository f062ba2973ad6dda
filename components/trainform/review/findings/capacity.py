"""Pods without room."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review.capacity import capacity_of, is_scaled
from trainform.review.context import Context
from trainform.review.job_objects import places_pods
from trainform.review.kinds import kind
from trainform.review.model import Finding

NEVER = kind("TR-CAPACITY-1")
LATER = kind("TR-CAPACITY-2")
SCALED = kind("TR-CAPACITY-2", "scaled")
BEHIND = kind("TR-CAPACITY-2", "behind")


def find(context: Context) -> Iterator[Finding]:
    """Yield a finding unless the pods fit. The fingerprint depends on the requests, not on what is free now."""
    capacity = capacity_of(context)
    if not capacity.clause:
        return
    later = SCALED if is_scaled(context) else LATER
    jobs = [job for job in context.jobs if places_pods(job)]
    requested = {shortage.resource: shortage.asked for shortage in capacity.shortages} or capacity.clause
    names = ", ".join(job.name for job in jobs)
    title = f"The job {names} {capacity.clause}." if len(jobs) == 1 else capacity.sentence
    about = {"never": NEVER, "later": later}.get(capacity.verdict, BEHIND)
    yield about.finding(names, "roles", after=requested, title=title, place=context.locate("roles"))
