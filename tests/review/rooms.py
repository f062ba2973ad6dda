"""Previews of new jobs in a cluster of four nodes, for tests of the room that they find."""

from __future__ import annotations

from typing import Any

from tests.review.jobs_of_previews import context, environment, job_review, live, live_node, rendered
from trainform.cluster.facts import LiveNode
from trainform.review.capacity import capacity_of
from trainform.review.context import Context, JobReview
from trainform.review.model import Capacity

CLUSTER = environment(priority_classes={"urgent": {"value": 1000}})
NODES = [live_node(f"node-{index}") for index in range(4)]
BERT = "team-b/bert-77aa01"
OF_CLUSTER = ("queues", "other_queues", "quotas", "kueue", "not_read", "priorities")


def new_job(name: str = "sdxl-lora", **parts: Any) -> JobReview:
    return job_review(None, rendered(CLUSTER, **{"name": name, **parts}))


def reviewed(job: JobReview, *nodes: LiveNode, **parts: Any) -> Context:
    """The preview of the job; parts of the cluster are given by their names in `LiveFacts`."""
    facts = live(nodes=nodes, **{name: parts.pop(name) for name in OF_CLUSTER if name in parts})
    return context(job, environment=CLUSTER, live=facts, **parts)


def judged(job: JobReview, *nodes: LiveNode, **parts: Any) -> Capacity:
    return capacity_of(reviewed(job, *nodes, **parts))
