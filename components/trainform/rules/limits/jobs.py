"""What a job hands to controllers other than its operator."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment


def other_managers(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Jobs that name another controller than their operator, and caches, where the environment does not allow them."""
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
