"""An Indexed Job (`batch/v1`), whose pods Kubernetes numbers from 0. JobSet makes its pods by such Jobs too.

Pod i has completion index i, so a lost pod is replaced by one with the same hostname.
"""

from __future__ import annotations

from typing import Any

from trainform.backends.backend import DEADLINE
from trainform.manifests.manifest import without_empty
from trainform.manifests.pods import PodTemplate
from trainform.plan.model import Group, Plan, RolePlan

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
JOB_LABEL = "batch.kubernetes.io/job-name"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
# Labels and annotations of pods for which the API server refuses a Job unless the values are its own, so that no pod is
# ever made. https://kubernetes.io/docs/reference/labels-annotations-taints/
OWN_KEYS = frozenset(["job-name", "controller-uid", "batch.kubernetes.io/"])


def indexed_job(plan: Plan, group: Group, template: PodTemplate, backoff: int) -> dict[str, Any]:
    """Return the spec of a Job of the group's pods. backoff: see `backoff_limit`."""
    job: dict[str, Any] = {
        "parallelism": group.replicas,
        "completions": group.replicas,
        "completionMode": "Indexed",
        "backoffLimit": backoff,
        DEADLINE: plan.max_run_seconds,
        "template": template,
    }
    return without_empty(job)


def backoff_limit(role: RolePlan) -> int:
    """Return the number of container restarts at which the Job fails. Kubernetes counts as Volcano does where
    containers are restarted (`pastBackoffLimitOnFailure`)."""
    return role.max_retry if role.restart == "on-failure" else 0
