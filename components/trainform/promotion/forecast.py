"""What a job that no preview shows would cost, and whether it would fit: the review's answers for the objects that `pulumi up` would make."""

from __future__ import annotations

import datetime

from trainform.cluster.facts import LiveFacts
from trainform.manifests.manifest import job_body
from trainform.plan.record import Record
from trainform.render import RenderedJob
from trainform.review.context import Context, JobReview
from trainform.review.preview import Preview, State, Step

FORM = "promotion"


def context_of(stack: str, job: RenderedJob, before: Record | None, live: LiveFacts | None) -> Context:
    """The job as a preview of its stack would have it. before: what is deployed there; None: nothing, or nobody knows."""
    body = job_body(job.manifests)
    old = None if before is None else State(_named(body, before.job), id=before.job)
    changes = before is None or before.job != job.plan.job
    step = Step(
        "create" if before is None else "replace" if changes else "update",
        urn="",
        type=f"kubernetes:{body['apiVersion']}:{body['kind']}",
        name=job.experiment.name,
        old=old,
        new=State(body),
    )
    review = JobReview(job.experiment.name, None, step, before, job.plan.record, ())
    today = datetime.datetime.now(datetime.UTC).date()
    return Context(stack, Preview(FORM, (step,)), (review,), job.environment, live, today=today)


def _named(body: dict[str, object], name: str) -> dict[str, object]:
    """An object of the same kind and namespace with this name."""
    metadata = body["metadata"]
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": name, "namespace": namespace}}
