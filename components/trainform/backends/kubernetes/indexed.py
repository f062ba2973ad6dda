"""An Indexed Job (`batch/v1`), whose pods Kubernetes numbers from 0. JobSet makes its pods by such Jobs too.

Pod i has completion index i, so a lost pod is replaced by one with the same hostname.
"""

from __future__ import annotations

from typing import Any

from trainform.manifests.pods import PodTemplate
from trainform.plan.model import Group, RolePlan

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
JOB_LABEL = "batch.kubernetes.io/job-name"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
# Labels and annotations of pods for which the API server refuses a Job unless the values are its own, so that no pod is
# ever made. https://kubernetes.io/docs/reference/labels-annotations-taints/
OWN_KEYS = frozenset(["job-name", "controller-uid", "batch.kubernetes.io/"])


def indexed_job(group: Group, template: PodTemplate, backoff: int) -> dict[str, Any]:
    """Return the spec of a Job of the group's pods. backoff: see `backoff_limit`."""
    return {
        "parallelism": group.replicas,
        "completions": group.replicas,
        "completionMode": "Indexed",
        "backoffLimit": backoff,
        "template": template,
    }


def backoff_limit(role: RolePlan) -> int:
    """Return the number of container restarts at which the Job fails. Kubernetes counts as Volcano does where
    containers are restarted (`pastBackoffLimitOnFailure`)."""
    return role.max_retry if role.restart == "on-failure" else 0
