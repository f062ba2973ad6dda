"""The run time of pods, the deletion of jobs after their end, and the controllers of jobs."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment
from trainform.spec.quantities import seconds

DEADLINE = "activeDeadlineSeconds"
GRACE = "terminationGracePeriodSeconds"
FREE_GRACE = 30  # default of Kubernetes; not counted as run time
LONGEST_GRACE = 86_400


def deleted_after_end(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield jobs that stay in the cluster after their end, with their pods."""
    if judged.templates and not any(named.what == "ttl" for named in judged.names):
        reason = f"the job stays after its end, and the environment {environment.name} requires that it is deleted"
        yield Finding("spec.ttlSecondsAfterFinished", None, reason, "write `ttl: 24h`")


def run_time(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that may run longer than the environment allows, or take longer to end."""
    limit = environment.limits.max_run_time
    most = None if limit is None else seconds(str(limit))
    for template in judged.templates:
        longest = LONGEST_GRACE if most is None else max(FREE_GRACE, min(most, LONGEST_GRACE))
        grace = _grace(template)
        if grace > longest:
            reason = f"the pods may take longer to end than the environment {environment.name} allows ({longest} s)"
            yield Finding(f"spec.{GRACE}", grace, reason, f"write {longest} there, or less", template)
            continue
        deadline = _deadline(template)
        left = None if most is None else most - max(grace - FREE_GRACE, 0)
        if left is not None and (deadline is None or deadline > left):
            reason = f"the pods may run longer than the environment {environment.name} allows ({limit})"
            fix = f"write under `roles.{template.role}`: `pod_overrides: {{spec: {{{DEADLINE}: {left}}}}}`, or less"
            yield Finding(f"spec.{DEADLINE}", deadline, reason, fix, template)


def _grace(template: Template) -> int:
    """Return the seconds that the pods have to end, also after their deadline."""
    given = template.spec.get(GRACE)
    return given if isinstance(given, int) else FREE_GRACE


def _deadline(template: Template) -> int | None:
    """Return the seconds after which the pods end: the shorter deadline of pods and job, None without one."""
    given = [template.spec.get(DEADLINE), template.run_time]
    return min((each for each in given if isinstance(each, int)), default=None)


def other_managers(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield controllers of jobs other than the operator, and caches, that the environment does not allow."""
    limits = environment.limits
    for named in judged.names:
        if named.what == "manager" and named.value not in limits.job_managers:
            reason = f"in the environment {environment.name} the operator runs the job, and not this controller"
            fix = "remove it, or ask the platform team for limits.job_managers"
            yield Finding(named.where, named.value, reason, fix, key=named.key)
    for add_on in judged.add_ons:
        if add_on.is_cache and not limits.cache_backends:
            reason = (
                f"the operator makes pods and volumes of it, which the environment {environment.name} does not count"
            )
            fix = "remove it, or ask the platform team for limits.cache_backends"
            yield Finding(add_on.where, None, reason, fix, key=add_on.key)
