"""The end of a Volcano Job: the lifecycle policies of its tasks, or the number of pods that have succeeded.

Source: Volcano 1.14.1, pkg/controllers/job (`applyPolicies`, state/running.go) and pkg/controllers/cache
(`TaskCompleted`). The controller checks the policies of the pod's task before those of the job, and takes the first
that matches; `*` matches every event. TaskCompleted is raised when all pods of one task have succeeded. If replicas
have their own templates (`ports: per-replica`), each is a separate task, and no policy covers several tasks: then
`minSuccess` ends the job by the number of pods that have succeeded, whichever they are. So no pod of another role may
succeed before them: such pods keep running (`RolePlan.stays`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainform.backends.outcome import ToOutcome, ends_with_role, failed_of_pods
from trainform.errors import Problem
from trainform.manifests.manifest import without_empty
from trainform.plan.model import Ending, Plan, RolePlan
from trainform.plan.restart import ANY_EVENT, COMPLETED, ON_FAILURE, TASK_FAILED, action_upon
from trainform.spec.quantities import seconds
from trainform.spec.roles import Policy

ENDS = (
    "the policy `TaskCompleted: CompleteJob` of the task; with `ports: per-replica` by `minSuccess`, which counts "
    "every pod: pods of other roles that succeed stay up until then"
)
# Terminated: by the policy `TerminateJob`, which a pod that fails raises where nothing restarts it. Aborted: by
# somebody, as `vcctl job suspend` does.
# The counts of pods are none in the status of a job that is complete (1.14.1, `killPods`), so the pods themselves say
# it.
OUTCOME = ToOutcome(
    {"Completed": "succeeded", "Failed": "failed", "Terminated": "failed", "Aborted": "stopped"},
    failed_pods=failed_of_pods,
)
END_ACTIONS = ("CompleteJob", "TerminateJob", "AbortJob")
_NO_ACTION = "ResumeJob"  # of a job that runs
_EACH = (
    "the policy would act when a single replica has succeeded: with `ports: per-replica` each replica of a ranked "
    "role is a separate task"
)
_NEVER = "the policy would never act: with `ports: per-replica` the pods of this role keep running until the job ends"
_NO_SHELL = (
    "the image may have no /bin/sh: with `ports: per-replica` a script starts the role's pods and keeps them running "
    "until the job ends, since Volcano counts all pods that succeed"
)


def rendered_policies(policies: tuple[Policy, ...]) -> list[dict[str, Any]]:
    """Lifecycle policies as fields of Volcano's API."""
    return [
        without_empty(
            {
                "action": policy.action,
                "event": policy.event,
                "exitCode": policy.exit_code,
                "timeout": None if policy.timeout is None else f"{seconds(policy.timeout)}s",
            }
        )
        for policy in policies
    ]


def task_policies(role: RolePlan) -> list[dict[str, Any]]:
    """The policies of the role's tasks, without the one that `minSuccess` replaces."""
    return rendered_policies(tuple(policy for policy in role.policies if not _is_min_success(role, policy)))


def min_success(plan: Plan) -> int | None:
    """The number of pods whose success ends the job; None if a policy ends it."""
    return next((role.replicas for role in plan.roles if role.counted), None)


def ending_problems(plan: Plan) -> Iterator[Problem]:
    """Problems in jobs with a task for each replica: policies for the end of a task, and images that may have no shell
    for trainform's script."""
    shells = {role.image for role in plan.roles if role.launched}
    for role in plan.roles:
        path = f"roles.{role.name}"
        if role.stays:
            yield from _completion_policies(f"{path}.policies", role.policies, _NEVER)
        elif role.per_replica and role.replicas > 1:
            policies = [None if _is_min_success(role, policy) else policy for policy in role.policies]
            yield from _completion_policies(f"{path}.policies", policies, _EACH)
        if role.stays and role.image not in shells:
            fix = (
                "remove it, let one pod end the job (a first role of one replica, or TensorFlow's chief), or write "
                "`ports: shared`"
            )
            yield Problem(f"{path}.image", role.image, _NO_SHELL, fix)
    if any(role.per_replica and role.replicas > 1 for role in plan.roles):
        yield from _completion_policies("policies", plan.policies, _EACH)


def endings(plan: Plan) -> tuple[Ending, ...]:
    """Return what ends the Job while some of its pods still run."""
    ending = (role for role in plan.roles if role.replicas and _action(plan, role, COMPLETED) in END_ACTIONS)
    return tuple(found for role in ending for found in ends_with_role(plan, role.name))


def restarts_endlessly(plan: Plan, role: RolePlan) -> bool:
    """True if containers of the role are started again, and no policy acts when that has been too often."""
    return role.restart == ON_FAILURE and is_unheeded(plan, role, TASK_FAILED)


def is_unheeded(plan: Plan, role: RolePlan, default: Policy) -> bool:
    """True if nothing follows upon the event of this default policy in pods of the role."""
    return role.replicas > 0 and _action(plan, role, default) in (None, _NO_ACTION)


def _action(plan: Plan, role: RolePlan, default: Policy) -> str | None:
    return None if default.event is None else action_upon((*role.policies, *plan.policies), default.event)


def _is_min_success(role: RolePlan, policy: Policy) -> bool:
    """True if `minSuccess` replaces the policy."""
    return role.counted and policy == COMPLETED


def _completion_policies(path: str, policies: Sequence[Policy | None], reason: str) -> Iterator[Problem]:
    for index, policy in enumerate(policies):
        if policy is not None and policy.event in (COMPLETED.event, ANY_EVENT):
            fix = "remove it, name other events, or write `ports: shared`"
            yield Problem(f"{path}[{index}].event", policy.event, reason, fix)
