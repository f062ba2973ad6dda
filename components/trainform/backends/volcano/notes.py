"""What Volcano's controller does by the lifecycle policies of a rendered Job in a way that may surprise.

Source: Volcano 1.14.1, pkg/controllers/job (`applyPolicies`, `AddDelayActionForJob`, state/running.go). The statuses of containers that it reads are
sorted by name (Kubernetes 1.34, pkg/kubelet, `convertToAPIContainerStatuses`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainform import defaults
from trainform.backends.endings import ends_by, late_roles
from trainform.backends.role_notes import unseen_failures
from trainform.backends.volcano.ends import (
    END_ACTIONS,
    action_upon,
    endings,
    endless_restarts,
    events_of,
    heeded,
    rendered_policies,
    task_policies,
    task_role,
    unheeded,
)
from trainform.plan.model import Plan
from trainform.plan.restart import ANY_EVENT, COMPLETED, ON_FAILURE, POD_FAILED

_RESTARTS = ("RestartJob", "RestartTask", "RestartPod", "RestartPartition")
_PENDING = "PodPending"
_Policy = dict[str, Any]


def job_notes(plan: Plan, job: dict[str, Any]) -> Iterator[str]:
    """A sentence for each, those of several tasks of a role once."""
    spec = job["spec"]
    found: dict[str, None] = dict.fromkeys(_delayed("policies", spec))
    for task in (task for task in spec["tasks"] if task["replicas"]):
        found |= dict.fromkeys(_of_task(f"role {task_role(task)}", task, spec))
    yield from unseen_failures(plan, heeded(job))
    yield from found
    yield from dict.fromkeys(_never_first(plan, spec))
    yield from _late(plan, spec)
    yield from _failures(plan, job)


def _late(plan: Plan, spec: dict[str, Any]) -> Iterator[str]:
    """A note on an elastic job that may start with a part of its pods: without `minSuccess` it ends with the last of all. A container that nothing starts
    again fails when it has waited, and the job is complete."""
    if plan.world.bounds is None or "minSuccess" in spec:
        return
    for role in (role for role in late_roles(plan) if plan.by_name[role].restart == ON_FAILURE):
        least = plan.world.bounds[0]
        yield (
            f"role {role}: a pod that finds room only when the others have completed waits for them in vain, and the job with it; write "
            f"`manifest_overrides: {{job: {{spec: {{minSuccess: {least}}}}}}}` to end it when {least} {'pod has' if least == 1 else 'pods have'} succeeded"
        )


def _of_task(role: str, task: dict[str, Any], spec: dict[str, Any]) -> Iterator[str]:
    yield from _delayed(role, task)
    action = action_upon(COMPLETED.event, task, spec)
    if action in _RESTARTS:
        yield (
            f"{role}: a policy puts {action} upon its success, so it begins again, and restart {spec['maxRetry']} fails the job; write `CompleteJob`, or "
            "another event, to let it end"
        )
    first = min(container["name"] for container in task["template"]["spec"]["containers"])
    codes = any("exitCode" in policy for policy in (*task.get("policies", []), *spec.get("policies", [])))
    if codes and first != defaults.MAIN_CONTAINER:
        yield (
            f"{role}: policies for exit codes look at the container {first}, the first by its name, and not at {defaults.MAIN_CONTAINER}; write a name "
            f"for it that comes behind {defaults.MAIN_CONTAINER}"
        )


def _delayed(owner: str, holder: dict[str, Any]) -> Iterator[str]:
    """Notes on actions that end pods beside the controller's own sync. Those upon pods that wait were never seen to fail."""
    for policy in holder.get("policies", []):
        if "timeout" in policy and policy["action"] in (*END_ACTIONS, _RESTARTS[0]) and policy.get("event") != _PENDING:
            yield (
                f"{owner}: Volcano carries out {policy['action']} with a timeout beside its own sync, which may make the pods again, so that the job "
                "goes on or waits for ever; leave the timeout out to act at once"
            )


def _never_first(plan: Plan, spec: dict[str, Any]) -> Iterator[str]:
    """Notes on policies that never act: for every pod Volcano finds another one before, in the list of its task and then in that of the job."""
    tasks = [task for task in spec["tasks"] if task["replicas"]]
    of_job = spec.get("policies", [])
    written = rendered_policies(plan.policies)
    for index, policy in enumerate(of_job):
        before = [[*task.get("policies", []), *of_job[:index]] for task in tasks]
        if policy in written:
            yield from _hidden("policies", policy, before, "write it before that one, in the list where that one is")
        else:
            where, fix = (
                "manifest_overrides.job.spec.policies",
                "write it in `policies`, or of a role with policies of its own in those",
            )
            yield from _hidden(where, policy, before, fix)
    for task in tasks:
        role = plan.by_name[task_role(task)]
        given, place = task_policies(role), f"roles.{role.name}.policies"
        for index, policy in enumerate(task.get("policies", [])):
            is_patch = policy not in given
            where = f"manifest_overrides.job.spec.tasks.{task['name']}.policies" if is_patch else place
            fix = f"write it in `{place}`" if is_patch else "write it before that one"
            yield from _hidden(where, policy, [task["policies"][:index]], fix)


def _hidden(where: str, policy: _Policy, before: Sequence[list[_Policy]], fix: str) -> Iterator[str]:
    """A note if each of these lists has a policy for all upon which this one acts. One with the same action hides nothing."""
    triggers = [*sorted(events_of(policy)), *([policy["exitCode"]] if "exitCode" in policy else [])]
    first = [
        next((other for other in each if _acts_upon(other, trigger)), None) for each in before for trigger in triggers
    ]
    hiding = [other for other in first if other is not None]
    others = [other for other in hiding if other["action"] != policy["action"]]
    if len(hiding) == len(first) and others:
        yield (
            f"{where}: the policy `{_words(policy)}` never acts, since Volcano takes the first that matches, and `{_words(others[0])}` comes before it "
            f"for every pod; {fix}"
        )


def _acts_upon(policy: _Policy, trigger: object) -> bool:
    """An exit code is that of a pod that fails, so policies for this event match it too."""
    if isinstance(trigger, int):
        return policy.get("exitCode") == trigger or not events_of(policy).isdisjoint((POD_FAILED.event, ANY_EVENT))
    return not events_of(policy).isdisjoint((trigger, ANY_EVENT))


def _words(policy: _Policy) -> str:
    """As the fields spell it: `PodFailed: TerminateJob`."""
    upon = f"exit code {policy['exitCode']}" if "exitCode" in policy else ", ".join(sorted(events_of(policy)))
    return f"{upon}: {policy['action']}"


def _failures(plan: Plan, job: dict[str, Any]) -> Iterator[str]:
    """Notes on roles of the training whose failed pods are missing from then on. That an extra's failure ends nothing is so by itself."""
    ends_with, alone, others = endings(job), unheeded(job), "pods" if plan.world.bounds is None else "nodes"
    again = endless_restarts(job)
    for role in plan.roles:
        if role.launched and role.name in again:
            yield (
                f"role {role.name}: a container that fails is started again, however often, and nothing ends the job for it; write the policy "
                f"`TaskFailed: TerminateJob` to end it at restart {role.max_retry}"
            )
        if role.launched and role.name in alone and plan.totals.pods > 1:
            then = ""
            if ends_by(role.name, ends_with):
                then = ", which nothing ends then when they complete"
            elif role.min_available == role.replicas:
                then = ", and fails when they have ended"
            yield (
                f"role {role.name}: with `restart: never` a pod that fails is not started again, and the job continues with the other {others}{then}; "
                "write `restart: on-failure` to start its containers again"
            )
