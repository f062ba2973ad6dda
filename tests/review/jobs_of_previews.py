"""Jobs of previews, made from experiments as a user writes them: the objects before and after as trainform renders
them."""

from __future__ import annotations

import datetime
from typing import Any

from tests.review import jobs
from tests.review.jobs import job_review as job_review
from tests.support.samples import CLUSTER, JOB
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.cluster.facts import LiveFacts, LiveJob, LiveNode, LiveQueue
from trainform.cluster.phases import Phase
from trainform.job.render import render_job
from trainform.review.capacity import capacity_of
from trainform.review.context import Context, JobReview
from trainform.review.model import Capacity
from trainform.review.preview import State, Step
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

GPU = "baidu.com/a800_80g_cgpu"
NAMESPACE = "ai-namespace"
PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}
TODAY = datetime.date(2026, 11, 23)
READ_AT = "2026-11-23T10:00:00Z"


def environment(**parts: Any) -> Environment:
    """Two kinds of accelerators, of which a800 has a price."""
    kinds = {**CLUSTER["accelerators"], "a800": {**CLUSTER["accelerators"]["a800"], "price_per_hour": PRICE}}
    return Environment.model_validate({**CLUSTER, "accelerators": kinds, **parts})


def rendered(cluster: Environment, **parts: Any) -> jobs.DeploymentRecord:
    """A job of the environment."""
    return jobs.side(render_job(Experiment.model_validate({**JOB, **parts}), cluster))


def workers(replicas: int, accelerators: int = 8, kind: str = "a800", **more: Any) -> dict[str, Any]:
    """Roles with one group of pods."""
    return {"roles": {"worker": {"replicas": replicas, "accelerators": {kind: accelerators}, **more}}}


def queue_step(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None, kind: str = "Queue") -> Step:
    """A queue whose spec changes; None: it is not there."""
    old, new = (None if spec is None else State(_queue(name, spec), id=name) for spec in (before, after))
    operation = "create" if before is None else "delete" if after is None else "same" if before == after else "update"
    return Step(operation, f"urn:queue-{name}", f"kubernetes:scheduling.volcano.sh/v1beta1:{kind}", name, old, new)


def _queue(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": QUEUE_API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def context(*given: JobReview, steps: tuple[Step, ...] = (), **parts: Any) -> Context:
    """What the report is made from."""
    return jobs.context(*given, others=steps, **{"today": TODAY, **parts})


def live(**parts: Any) -> LiveFacts:
    """A cluster that was read, with nothing in it but what is given."""
    return LiveFacts(**{"read_at": READ_AT, "jobs": (), "queues": (), "nodes": (), "drift": (), **parts})


def live_job(name: str, phase: Phase = Phase.RUNNING) -> LiveJob:
    """A job in the cluster."""
    return LiveJob(name, phase, "", {})


def live_queue(name: str, capability: dict[str, str] | None = None, **holders: int) -> LiveQueue:
    """A queue in which each holder, a job of team-b, has so many accelerators."""
    held = {f"team-b/{job.replace('_', '-')}": {GPU: str(count), "pods": "1"} for job, count in holders.items()}
    return LiveQueue(name, 1, {} if capability is None else capability, {}, held)


def live_node(name: str, held: dict[str, int] | None = None, **parts: Any) -> LiveNode:
    """A node of 8 accelerators, of which each job (NAMESPACE/NAME) holds so many."""
    taken = {} if held is None else held
    requested = {GPU: str(sum(taken.values()))} if taken else {}
    holders = {job: {GPU: str(count)} for job, count in taken.items()}
    allocatable = {"cpu": "96", "memory": "1Ti", GPU: "8", "pods": "110", "rdma/hca": "1"}
    return LiveNode(**{"name": name, "labels": {}, "taints": (), "allocatable": allocatable, "requested": requested,
            "holders": holders, **parts})  # fmt: skip


# --- new jobs in a cluster of four nodes

ROOM = environment(priority_classes={"urgent": {"value": 1000}})
NODES = [live_node(f"node-{index}") for index in range(4)]
BERT = "team-b/bert-77aa01"


def new_job(name: str = "sdxl-lora", **parts: Any) -> JobReview:
    return job_review(None, rendered(ROOM, name=name, **parts))


def reviewed(job: JobReview, *nodes: LiveNode, **parts: Any) -> Context:
    """The preview of the job; parts of the cluster are given by their names in `LiveFacts`."""
    of_cluster = parts.keys() & set(LiveFacts.__struct_fields__)
    facts = live(nodes=nodes, **{name: parts.pop(name) for name in of_cluster})
    return context(job, environment=ROOM, live=facts, **parts)


def judged(job: JobReview, *nodes: LiveNode, **parts: Any) -> Capacity:
    return capacity_of(reviewed(job, *nodes, **parts))
