"""A JobSet's spec: one Indexed Job for each group of pods. Trainer's runtimes hold the same.

Source: JobSet 0.12.0, `api/jobset/v1alpha2` and its webhooks. What these would fill in is said here: the controller reads `network` and
`successPolicy` without looking whether they are there, and Trainer asks no webhook.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trainform.backends.decided import labels_of
from trainform.backends.endings import Part, all_of, any_of
from trainform.backends.gangs import in_gang
from trainform.catalog import defaults
from trainform.manifests.env import Operator
from trainform.manifests.manifest import without_empty
from trainform.manifests.pods import is_valid, pod_template
from trainform.manifests.shape import POD_TEMPLATE
from trainform.plan.model import Ending, Group, Plan, RolePlan
from trainform.policy.templates import Template

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
SUFFIX = 6  # characters that Kubernetes puts after the name of a Job's pod: `-x7k2p`
# Labels and annotations of pods: JobSet writes its own over what stands there, and the API server refuses a Job whose pods have others than
# its own, so that none is ever made. https://kubernetes.io/docs/reference/labels-annotations-taints/
OWN_KEYS = ("job-name", "controller-uid", "batch.kubernetes.io/", "jobset.sigs.k8s.io/")
ENDLESS = 2**31 - 1  # restarts of what must never fail the job

JOB_SHAPE = {
    "name!": str,
    "replicas": int,
    "template!": {
        "metadata": {"labels": {"*": str}},
        "spec!": {"parallelism!": int, "completions!": int, "template!": POD_TEMPLATE},
    },
}
# Paths in the spec of what the plan has decided (`decided`).
DECIDED = (
    "network.subdomain",
    "replicatedJobs.*.replicas",
    "replicatedJobs.*.template.spec.parallelism",
    "replicatedJobs.*.template.spec.completions",
    *labels_of("replicatedJobs.*.template.spec.template"),
)
SUCCESS = {"operator": str, "targetReplicatedJobs": [str]}
SHAPE = {"network!": {"subdomain": str}, "successPolicy": SUCCESS, "replicatedJobs!": [JOB_SHAPE]}


def replicated_jobs_spec(plan: Plan, operator: Operator) -> dict[str, Any]:
    """The spec of a JobSet."""
    return without_empty(
        {
            "network": {
                "enableDNSHostnames": True,
                "subdomain": plan.rendezvous.service,
                "publishNotReadyAddresses": True,
            },
            "successPolicy": without_empty({"operator": "All", "targetReplicatedJobs": _ending_groups(plan)}),
            "failurePolicy": _failure_policy(plan),
            "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            "replicatedJobs": [
                _replicated_job(plan, role, group, operator) for role in plan.roles for group in role.groups()
            ],
        }
    )


def templates(spec: dict[str, Any]) -> list[Template]:
    """Pods of each role. All of a group are in the gang: a Job has no smaller number."""
    found = []
    for job in spec["replicatedJobs"]:
        pods = job["template"]["spec"]
        found.append(Template(pods["parallelism"], pods["parallelism"], pods["template"]))
    return found


def endings(spec: dict[str, Any], role_of: Callable[[dict[str, Any]], str]) -> tuple[Ending, ...]:
    """What ends a JobSet with this spec while pods of it still run. `role_of`: whose pods a replicated job makes."""
    policy = spec.get("successPolicy", {})
    parts = [Part(job["name"], role_of(job)) for job in spec["replicatedJobs"]]
    targets = {*policy.get("targetReplicatedJobs", [])}
    chosen = [part for part in parts if not targets or part.name in targets]
    return any_of(parts, chosen) if policy.get("operator", "All") == "Any" else all_of(parts, chosen)


def labelled_role(job: dict[str, Any]) -> str:
    """The role of a replicated job that was rendered here."""
    return str(job["template"]["spec"]["template"]["metadata"]["labels"][defaults.ROLE_LABEL])


def _replicated_job(plan: Plan, role: RolePlan, group: Group, operator: Operator) -> dict[str, Any]:
    """Completion number i is pod i, whoever made it: a pod that is lost is made anew under its name."""
    template = pod_template(plan, role, group, operator)
    job = {
        "parallelism": group.replicas,
        "completions": group.replicas,
        "completionMode": "Indexed",
        "backoffLimit": _backoff(plan, role),
        "template": in_gang(plan, template) if is_valid(role, template) else template,
    }
    return {"name": group.name, "replicas": 1, "groupName": "default", "template": {"spec": job}}


def _backoff(plan: Plan, role: RolePlan) -> int:
    """Failures of pods, or of their containers, after which the Job fails, and with it the JobSet. An extra never does that."""
    if not role.launched:
        return ENDLESS
    return role.max_retry - 1 if role.restart == "on-failure" else 0


def _ending_groups(plan: Plan) -> list[str]:
    """Groups whose success together is the job's; none: all. A role that is not there, or has no replicas, is told
    elsewhere."""
    return [group.name for role in plan.roles if role.name == plan.ending_role for group in role.groups()]


def _failure_policy(plan: Plan) -> dict[str, Any]:
    """A failed Job restarts all where the plan says so, else it is the end."""
    restarting = {role.name for role in plan.roles if role.restarts_job}
    final = [group.name for role in plan.roles if role.name not in restarting for group in role.groups()]
    if not restarting:
        return {"maxRestarts": 0, "restartStrategy": "Recreate"}
    rules = [{"name": "final", "action": "FailJobSet", "targetReplicatedJobs": final}] if final else []
    return without_empty({"maxRestarts": plan.max_retry - 1, "restartStrategy": "Recreate", "rules": rules})
