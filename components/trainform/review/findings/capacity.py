"""Pods that find no room."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from trainform.review.capacity import NOT_RESERVED, capacity_of
from trainform.review.context import Context
from trainform.review.fate import fate
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding
from trainform.review.objects import places_pods

NEVER = Kind(
    "TR-CAPACITY-1",
    Category.capacity,
    "high",
    "The pods of a job never fit.",
    "The job waits for ever: the former one is gone by then, and nothing runs.",
    "Ask for less, or for another queue or kind of node.",
)
LATER = Kind(
    "TR-CAPACITY-2",
    Category.capacity,
    "medium",
    "The pods of a job fit only when others have finished.",
    "The job waits, and where it replaces a running one, nothing runs meanwhile.",
    "Wait with `pulumi up`, ask the holders, or ask for less.",
)
KINDS = (NEVER, LATER)
_BY_VERDICT = {"never": NEVER, "later": LATER}
SCALED = structs.replace(LATER, why="The job runs on with the pods that it has; only the further ones wait.")
"""Where jobs are scaled in place alone: nothing that runs ends."""


def find(context: Context) -> Iterator[Finding]:
    """A verdict other than that the pods fit. What asks counts for the fingerprint, and not what happens to be free."""
    capacity = capacity_of(context)
    kind = _BY_VERDICT.get(capacity.verdict)
    if kind is None:
        return
    jobs = [job for job in context.jobs if places_pods(job)]
    if kind is LATER and all(fate(context, job).kind == "scale" for job in jobs):
        kind = SCALED
    names = ", ".join(job.name for job in jobs)
    title = capacity.sentence.removesuffix(NOT_RESERVED).strip()
    asked = {shortage.resource: shortage.asked for shortage in capacity.shortages}
    yield kind.finding(names, "roles", after=asked, title=title, place=context.locate("roles"))
