"""A JobSet's spec: one Indexed Job for each group of pods. Trainer's runtimes contain such a spec too.

Source: JobSet 0.12.0, `api/jobset/v1alpha2` and its webhooks. The defaults of the webhooks are set here: the controller
reads `network` and `successPolicy` without a check that they exist, and the specs of Trainer's runtimes pass no such
webhook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform.backends.admission import in_gang, least_of_groups
from trainform.backends.backend import DEADLINE, PodsAt
from trainform.backends.kubernetes.indexed_job import OWN_KEYS as JOB_KEYS
from trainform.backends.kubernetes.indexed_job import backoff_limit, indexed_job
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import mappings, without_empty
from trainform.manifests.pods import pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Group, Plan, RolePlan
from trainform.plan.operator import Naming

JOB_LABEL = "jobset.sigs.k8s.io/jobset-name"
# Names of an Indexed Job's pods have a random end; peers use the hostname (replicated job, its only job's index, the
# pod's index).
NAMING = Naming(pod="{job}-{group}-0-{index}", address="{pod}.{service}", own_service=True)
SUFFIX = 6  # characters that Kubernetes puts after the name of a Job's pod: `-x7k2p`
OWN_KEYS = JOB_KEYS | {"jobset.sigs.k8s.io/"}  # JobSet overwrites these
ENDLESS = 2**31 - 1  # the limit of restarts for pods that must not fail the job


def replicated_jobs(path: str, job: str = "") -> PodsAt:
    """Return the pods of the replicated jobs at the path: so many Jobs, each with so many pods. job: as in `Pods`."""
    return PodsAt(
        f"{path}.replicatedJobs.*",
        "template.spec.template",
        ("replicas", "template.spec.parallelism"),
        run_time=f"template.spec.{DEADLINE}",
        job=job,
    )


PODS = {"jobset.x-k8s.io/JobSet": (replicated_jobs("spec"),)}


def replicated_jobs_spec(plan: Plan, conventions: PodConventions) -> dict[str, Any]:
    """Return the spec of a JobSet."""
    least, awaited = least_of_groups(plan), {*_awaited(plan.manifest_overrides)}
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
                _replicated_job(plan, role, group, conventions, least, _backoff(role, awaited=group.name in awaited))
                for role in plan.roles
                for group in role.groups()
            ],
        }
    )


def templates(spec: dict[str, Any]) -> list[Template]:
    """Return the pod template of each replicated job. By default all of its pods count for the gang."""
    return [structs.replace(pods.template, place="") for pods in replicated_jobs("spec")({"spec": spec})]


def _replicated_job(
    plan: Plan, role: RolePlan, group: Group, conventions: PodConventions, least: Mapping[str, int], backoff: int
) -> dict[str, Any]:
    """Return the Indexed Job of a group."""
    template = in_gang(plan, pod_template(plan, role, group, conventions), group.name, least)
    job = indexed_job(plan, role, group, template, backoff)
    return {"name": group.name, "replicas": 1, "groupName": "default", "template": {"spec": job}}


def _backoff(role: RolePlan, *, awaited: bool) -> int:
    """Return the number of container restarts at which the Job fails, and with it the JobSet.

    Pods without a launch script do not fail the JobSet, unless the user limits their restarts, or others wait for their
    success.
    """
    return backoff_limit(role) if role.launched or role.limited or awaited else ENDLESS


def _awaited(patch: object) -> Iterator[str]:
    """Yield the replicated jobs for whose success others wait by a merge patch."""
    if isinstance(patch, list):
        for item in patch:
            yield from _awaited(item)
    elif isinstance(patch, dict):
        waits = patch.get("dependsOn")
        yield from (each["name"] for each in mappings(waits) if each.get("status") == "Complete" and "name" in each)
        for item in patch.values():
            yield from _awaited(item)


def _ending_groups(plan: Plan) -> list[str]:
    """Return the groups whose success together ends the job; empty if all groups must succeed. The rules report a
    missing role."""
    return [group.name for role in plan.roles if role.name == plan.ending_role for group in role.groups()]


def _failure_policy(plan: Plan) -> dict[str, Any]:
    """Return the failure policy: a failed Job restarts the whole JobSet if the plan says so for its role; otherwise the
    JobSet fails."""
    restarting = {role.name for role in plan.roles if role.restarts_job}
    final = [group.name for role in plan.roles if role.name not in restarting for group in role.groups()]
    if not restarting:
        return {"maxRestarts": 0, "restartStrategy": "Recreate"}
    rules: list[dict[str, Any]] = []
    if plan.max_run_seconds is not None:
        rules.append({"name": "deadline", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]})
    if final:
        rules.append({"name": "final", "action": "FailJobSet", "targetReplicatedJobs": final})
    return without_empty({"maxRestarts": plan.max_retry - 1, "restartStrategy": "Recreate", "rules": rules})
