"""Custom resources as plain dicts: one module per operator, chosen by a table.

`plan_job` is the way from two files to a plan with its revision, `job_manifests` from there to the objects; `render`, `check`
and `pulumi up` all take them, so what is reviewed is what is applied.
"""

from trainform.backends.job import job_manifests, job_problems, plan_job
from trainform.backends.platform import platform_manifests

__all__ = ["job_manifests", "job_problems", "plan_job", "platform_manifests"]
