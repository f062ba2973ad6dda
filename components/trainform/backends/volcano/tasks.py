"""The tasks of a Job: how they are rendered, their schema, and those that wait for others.

Source: Volcano 1.14.1, pkg/controllers/job (`waitDependsOnTaskMeetCondition`) and pkg/scheduler/api (`CheckTaskValid`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.backends.order import After, Batch, order_problems
from trainform.backends.volcano.ends import POLICY, task_policies, task_role
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import without_empty
from trainform.manifests.pods import pod_template
from trainform.manifests.schema import METADATA, POD_TEMPLATE
from trainform.plan.model import Group, Plan, RolePlan

SCHEMA = {
    "metadata!": METADATA,
    "spec!": {
        "queue!": str,
        "minAvailable!": int,
        "minSuccess": int,
        "policies": [POLICY],
        "tasks!": [
            {
                "name!": str,
                "replicas!": int,
                "minAvailable!": int,
                "dependsOn": {"name": [str], "iteration": str},
                "policies": [POLICY],
                "template!": POD_TEMPLATE,
            }
        ],
    },
}


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


def waiting_problems(plan: Plan, spec: dict[str, Any]) -> Iterator[Problem]:
    """Problems with `dependsOn` of tasks."""
    yield from order_problems(plan, batches(spec), spec["minAvailable"])


def batches(spec: dict[str, Any]) -> list[Batch]:
    """The pods of each task, and those for which they wait."""
    return [_batch(task, spec["tasks"]) for task in spec["tasks"]]


def _batch(task: dict[str, Any], tasks: list[dict[str, Any]]) -> Batch:
    """The pods of a task. Volcano waits until as many pods of another task run as the gang needs of it, so not at all for one that needs none."""
    waits = task.get("dependsOn", {})
    at_once = {other["name"] for other in tasks if other["minAvailable"] == 0 and other is not task}
    others, any_of = waits.get("name", []), waits.get("iteration") == "any"
    free = any(name in at_once for name in others) if any_of else all(name in at_once for name in others)
    return Batch(
        task["name"],
        task_role(task),
        task["replicas"],
        task["minAvailable"],
        () if free else tuple(After(name) for name in others),
        any_of,
        f"tasks.{task['name']}.dependsOn",
    )
