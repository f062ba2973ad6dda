"""An Indexed Job (`batch/v1`), whose pods Kubernetes numbers from 0. JobSet makes its pods by such Jobs too.

Pod i has completion index i, so a lost pod is replaced by one with the same hostname.
"""

from __future__ import annotations

from typing import Any

from trainform.backends.backend import DEADLINE
from trainform.manifests.manifest import without_empty
from trainform.manifests.pod_types import PodTemplate
from trainform.plan.model import Group, Plan, RolePlan
from trainform.plan.world import NEVER

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
JOB_LABEL = "batch.kubernetes.io/job-name"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
# Labels and annotations of pods for which the API server refuses a Job unless the values are its own, so that no pod is
# ever made. https://kubernetes.io/docs/reference/labels-annotations-taints/
OWN_KEYS = frozenset(["job-name", "controller-uid", "batch.kubernetes.io/"])


def indexed_job(plan: Plan, role: RolePlan, group: Group, template: PodTemplate, backoff: int) -> dict[str, Any]:
    """Return the spec of a Job of the group's pods. backoff: see `backoff_limit`."""
    job: dict[str, Any] = {
        "parallelism": group.replicas,
        "completions": group.replicas,
        "completionMode": "Indexed",
        "backoffLimit": backoff,
        DEADLINE: plan.max_run_seconds,
        "podFailurePolicy": without_empty({"rules": _pod_failures(role, template)}),
        "template": template,
    }
    return without_empty(job)


def backoff_limit(role: RolePlan) -> int:
    """Return the number of container restarts at which the Job fails. Kubernetes counts as Volcano does where
    containers are restarted (`pastBackoffLimitOnFailure`). With rules on restarts, pods fail and are counted, each with
    one restart after it."""
    if role.restart_rule is not None:
        return 0 if role.restart_rule.when == NEVER else role.max_retry - 1
    return role.max_retry if role.restart == "on-failure" else 0


def _pod_failures(role: RolePlan, template: PodTemplate) -> list[dict[str, Any]]:
    """Return the rules of a Job for failed pods; other failures count for its `backoffLimit`."""
    rule, rules = role.restart_rule, list[dict[str, Any]]()
    if rule is not None and rule.ignore is not None:
        rules.append({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]})
    if rule is not None and rule.codes:
        container = template["spec"]["containers"][0]["name"]
        codes = {"containerName": container, "operator": "NotIn", "values": [*rule.codes]}
        rules.append({"action": "FailJob", "onExitCodes": codes})
    return rules
