"""Whether the last `pulumi up` of a job has succeeded: otherwise the state has what was wanted, and the record what is
deployed."""

from __future__ import annotations

from trainform.review import wanted
from trainform.review.causes import of_experiment
from trainform.review.context import JobReview


def failed(job: JobReview) -> bool:
    """True if what the components were given is not what is recorded as deployed. Sides of two versions of trainform
    have other defaults, and are not compared."""
    if job.component is None or job.component.old is None or job.after is None:
        return False
    if job.before is None:
        return True
    asked, deployed = wanted.of_components(job, old=True), wanted.before(job)
    if asked is None or deployed is None or job.before.version != job.after.version:
        return False
    return asked.run != deployed.run or bool(of_experiment(asked, deployed, ordered=False))
