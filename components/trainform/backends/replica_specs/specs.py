"""Replica specs, of which the jobs of training-operator v1 and of KubeDL consist.

A job has fixed replica types, one pod template for each type, and one run policy for all. This module also finds what
both operators refuse or would silently overwrite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import SCHEDULER, admission_crds
from trainform.backends.backend import DEADLINE, Backend, group_and_kind
from trainform.backends.refusals import EXTRA_ROLES, JOB_RESTARTS, another_backend
from trainform.backends.replica_specs.kinds import kind_of, replica_groups
from trainform.backends.support import LIMITED_RESTARTS, NO_RUNTIME, Support, done_by, no_policies, noted, refused
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.pods import RESTART_POLICIES, pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Plan, RolePlan
from trainform.spec.experiment import Experiment

ON_FAILURE = "on-failure"
RUNNING, LEFT_RUNNING = "Running", "None"  # values of cleanPodPolicy: which pods are deleted when the job has ended
ALL_WORKERS = "AllWorkers"  # the success policy of a TFJob without a chief, which otherwise completes with worker 0


def replica_specs(plan: Plan, conventions: PodConventions) -> dict[str, Any]:
    """Return the replica specs by type. A role for which the job has no type keeps its name, and is refused."""
    types = kind_of(plan).types
    return {types.get(role.group, role.name): _replica_spec(plan, role, conventions) for role in plan.roles}


GANG = "an option of the operator, `--gang-scheduler-name=volcano`: set it for `admission: volcano`, and only then"


class OfReplicaSpecs(Backend):
    """An operator with jobs of replica specs."""

    def groups(self, experiment: Experiment) -> dict[str, str]:
        return replica_groups(experiment)

    def crds(self, plan: Plan) -> tuple[str, ...]:
        """Return the definitions of the job, and those that the admission needs."""
        return (f"{kind_of(plan).plural}.{plan.operator.group}", *admission_crds(plan))

    def own_restarts(self, plan: Plan) -> tuple[str, ...]:
        return kind_of(plan).own_restarts

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """Return the pod template of each replica type. The gang needs as many pods as the plan says."""
        job = job_body(manifests)
        least = {role.name: role.min_available for role in plan.roles}
        found = (pods.template for find in self.PODS[group_and_kind(job)] for pods in find(job))
        return [structs.replace(template, min_available=least[template.role], place="") for template in found]

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with what a job of replica specs cannot express."""
        yield from _type_problems(plan)
        yield from _restart_problems(plan)


def common_fields(operator: str) -> dict[str, Support]:
    """Return the fields that both operators handle alike."""
    return {
        **NO_RUNTIME,
        **no_policies(operator),
        "max_retry": noted(
            f"it has no effect, since {operator} never starts a whole job anew", LIMITED_RESTARTS, elsewhere=True
        ),
        "roles.*.max_retry": done_by("one number for the job, over all pods that restart containers"),
        "max_run_time": done_by(f"`{DEADLINE}` of the job"),
        "ttl": done_by("updates in place"),
        "network.topology": refused(
            f"{operator} makes the PodGroup itself, without a topology", "remove it", elsewhere=True
        ),
    }


def run_policy(plan: Plan, priority_class: str) -> dict[str, Any]:
    """Return the run policy. priority_class: the operator's name for the field.

    `backoffLimit` is the number of container restarts, over all pods with `on-failure`, at which the job fails.
    """
    limits = [role.max_retry for role in plan.roles if role.restart == ON_FAILURE]
    scheduling = {
        "minAvailable": plan.min_available,
        "queue": plan.queue.name,
        priority_class: plan.priority_class,
    }
    by_volcano = plan.admission == defaults.VOLCANO
    return without_empty(
        {
            "suspend": True if plan.admission == defaults.KUEUE else None,
            "cleanPodPolicy": plan.clean_pods.capitalize(),
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            DEADLINE: plan.max_run_seconds,
            "backoffLimit": max(limits, default=None),
            "schedulingPolicy": without_empty(scheduling) if by_volcano else None,
        }
    )


def left_running(plan: Plan, policy: Mapping[str, Any], path: str, default: str = LEFT_RUNNING) -> Iterator[str]:
    """Yield a note if the run policy at this path of the job leaves pods running when the job has ended: then the end
    of some pods ends no others."""
    if policy.get("cleanPodPolicy", default) == LEFT_RUNNING:
        field = "clean_pods" if plan.clean_pods == "none" else f"manifest_overrides.job.{path}.cleanPodPolicy"
        yield (
            f"{field}: pods that still run when the job has succeeded or failed run on, with their accelerators, until "
            "they end by themselves or the job is deleted; remove it to have them deleted"
        )


def common_number(plan: Plan, name: str) -> int | None:
    """Return the number that the variable has in all ranked pods; None if they differ or if it is not a number."""
    values = {variable.value for role in plan.ranked for variable in role.env if variable.name == name}
    only = values.pop() if len(values) == 1 else None
    return int(only) if isinstance(only, str) and only.isascii() and only.isdecimal() else None


def _replica_spec(plan: Plan, role: RolePlan, conventions: PodConventions) -> dict[str, Any]:
    """Return the replica spec of a role. The restart policy is moved out of the template: next to it the operator's own
    value `ExitCode` is allowed too, and the operator would overwrite the one in the template, with a warning."""
    template = pod_template(plan, role, next(role.groups()), conventions)
    scheduler = {"schedulerName": SCHEDULER} if plan.admission == defaults.VOLCANO else {}
    spec = {**scheduler, **template["spec"]}
    restart = spec.pop("restartPolicy", RESTART_POLICIES[role.restart])
    if role.restart_rule is not None and restart == "Never":
        restart = "ExitCode"
    return {"replicas": role.replicas, "restartPolicy": restart, "template": {**template, "spec": spec}}


def _type_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with roles that have no replica type. The launcher's rules check TensorFlow's types."""
    kind = kind_of(plan)
    names = " and ".join(kind.types.values())
    owners: dict[str, str] = {}
    for role in plan.roles:
        path, other = f"roles.{role.name}", owners.get(role.group)
        if not role.ranked and role.name != plan.launches:
            reason = f"a {kind.kind} has no unranked roles: its replica types are {names}"
            yield Problem(f"{path}.ranked", False, reason, f"remove the role, or {another_backend(EXTRA_ROLES)}")
        elif other is not None and kind.kind != "TFJob":
            reason = (
                f"the role would be the {kind.types[role.group]} of the {kind.kind}, and the role {other} is that "
                f"already: the replica types are {names}"
            )
            alone = (
                " or begin with a role of one replica,"
                if kind.kind == "PyTorchJob" and plan.world.bounds is None
                else ""
            )
            yield Problem(path, None, reason, f"make the two one role,{alone} or {another_backend(EXTRA_ROLES)}")
        else:
            owners[role.group] = role.name


def _restart_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with restarts: the run policy has one limit for all pods, and cannot restart the whole job."""
    restarting = [role for role in plan.roles if role.restart == ON_FAILURE]
    if len({role.max_retry for role in restarting}) > 1:
        counts = ", ".join(f"{role.name} {role.max_retry}" for role in restarting)
        reason = f"the roles have different limits of container restarts ({counts}), and the job has one `backoffLimit`"
        yield Problem("roles", None, reason, "write the same number for all of them")
    names = [role.name for role in plan.roles if role.restarts_job]
    everywhere = names == [role.name for role in plan.roles if role.launched]
    for path in ["restart"] if names and everywhere else [f"roles.{name}.restart" for name in names]:
        reason = f"the value restarts the whole job, and a {kind_of(plan).kind} cannot do that"
        yield Problem(path, "all-when-evicted", reason, f"write on-failure, or {another_backend(JOB_RESTARTS)}")
