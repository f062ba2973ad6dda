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
    policies_of,
    task_policies,
    task_role,
    unheeded,
)
from trainform.manifests.shapes import mappings
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
    codes = any("exitCode" in policy for policy in policies_of(task, spec))
    if codes and first != defaults.MAIN_CONTAINER:
        yield (
            f"{role}: policies for exit codes look at the container {first}, the first by its name, and not at {defaults.MAIN_CONTAINER}; write a name "
            f"for it that comes behind {defaults.MAIN_CONTAINER}"
        )


def _delayed(owner: str, holder: dict[str, Any]) -> Iterator[str]:
    """Notes on actions that end pods beside the controller's own sync. Those upon pods that wait were never seen to fail."""
    for policy in mappings(holder.get("policies")):
        if "timeout" in policy and policy["action"] in (*END_ACTIONS, _RESTARTS[0]) and policy.get("event") != _PENDING:
            yield (
                f"{owner}: Volcano carries out {policy['action']} with a timeout beside its own sync, which may make the pods again, so that the job "
                "goes on or waits for ever; leave the timeout out to act at once"
            )


def _never_first(plan: Plan, spec: dict[str, Any]) -> Iterator[str]:
    """Notes on policies that never act: for every pod Volcano finds another one before, in the list of its task and then in that of the job. What is
    rendered stands first in each list, and what a patch adds behind it."""
    firsts = []
    for task in (task for task in spec["tasks"] if task["replicas"]):
        policies, role = mappings(task.get("policies")), plan.by_name[task_role(task)]
        own, place, number = _First(policies), f"roles.{role.name}.policies", len(task_policies(role))
        patch = f"manifest_overrides.job.spec.tasks.{task['name']}.policies"
        firsts.append(own)
        for index, policy in enumerate(policies):
            where, fix = (place, "write it before that one") if index < number else (patch, f"write it in `{place}`")
            yield from _hidden(where, policy, [[own.of(each, index) for each in _triggers(policy)]], fix)
    of_job = mappings(spec.get("policies"))
    own = _First(of_job)
    for index, policy in enumerate(of_job):
        triggers = _triggers(policy)
        before = [[first.of(each) or own.of(each, index) for each in triggers] for first in firsts]
        where, fix = "policies", "write it before that one, in the list where that one is"
        if index >= len(plan.policies):
            where = "manifest_overrides.job.spec.policies"
            fix = "write it in `policies`, or of a role with policies of its own in those"
        yield from _hidden(where, policy, before, fix)


class _First:
    """The first policy of a list that matches an event or an exit code."""

    def __init__(self, policies: Sequence[_Policy]) -> None:
        self._policies = policies
        self._places: dict[object, int] = {}
        for index, policy in enumerate(policies):
            for trigger in _triggers(policy):
                self._places.setdefault(trigger, index)

    def of(self, trigger: object, end: int | None = None) -> _Policy | None:
        """That before the end. An exit code is that of a pod that fails, so policies for this event match it too."""
        also = (POD_FAILED.event, ANY_EVENT) if isinstance(trigger, int) else (ANY_EVENT,)
        place = min((self._places[each] for each in (trigger, *also) if each in self._places), default=None)
        return None if place is None or (end is not None and place >= end) else self._policies[place]


def _triggers(policy: _Policy) -> list[object]:
    return [*sorted(events_of(policy)), *([policy["exitCode"]] if "exitCode" in policy else [])]


def _hidden(where: str, policy: _Policy, before: Sequence[list[_Policy | None]], fix: str) -> Iterator[str]:
    """A note if for every pod another one comes before all that this one acts upon. One with the same action hides nothing."""
    first = [other for each in before for other in each]
    hiding = [other for other in first if other is not None]
    others = [other for other in hiding if other["action"] != policy["action"]]
    if len(hiding) == len(first) and others:
        yield (
            f"{where}: the policy `{_words(policy)}` never acts, since Volcano takes the first that matches, and `{_words(others[0])}` comes before it "
            f"for every pod; {fix}"
        )


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
