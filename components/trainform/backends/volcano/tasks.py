"""The tasks of a Job."""

from __future__ import annotations

from typing import Any

from trainform.backends.volcano.ends import task_policies
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import without_empty
from trainform.manifests.pods import pod_template
from trainform.plan.model import Group, Plan, RolePlan


def task(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> dict[str, Any]:
    """The task of a group of pods."""
    return without_empty(
        {
            "name": group.name,
            "replicas": group.replicas,
            "minAvailable": group.min_available,
            "maxRetry": role.max_retry,
            "policies": task_policies(role),
            "template": pod_template(plan, role, group, conventions),
        }
    )
