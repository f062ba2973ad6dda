"""A new job, and the room that a cluster of four nodes has for it."""

from __future__ import annotations

from typing import Any

from tests.review.jobs_of_previews import (
    context,
    environment,
    job_review,
    live,
    live_node,
    rendered,
)
from trainform.review.capacity import capacity_of
from trainform.review.context import JobReview
from trainform.review.model import Capacity

CLUSTER = environment()


def new_job(**parts: Any) -> JobReview:
    return job_review(None, rendered(CLUSTER, **parts))


def judged(job: JobReview, *nodes: Any, **parts: Any) -> Capacity:
    of_cluster = ("queues", "other_queues", "quotas", "ranges", "kueue", "not_read")
    facts = live(nodes=nodes, **{name: parts.pop(name) for name in of_cluster if name in parts})
    return capacity_of(context(job, environment=CLUSTER, live=facts, **parts))


NODES = [live_node(f"node-{index}") for index in range(4)]
