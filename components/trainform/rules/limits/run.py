"""How long pods run, and how long a job stays after its end."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding, Raw
from trainform.spec.environment import Environment
from trainform.spec.quantities import seconds

DEADLINE = "activeDeadlineSeconds"


def deleted_after_end(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Jobs that stay in the cluster after their end, with their pods."""
    for named in judged.names:
        if named.what == "ttl" and named.value is None:
            reason = f"the job stays after its end, and the environment {environment.name} requires that it is deleted"
            raw = Raw(named.where, "write the seconds there, 86400 for a day")
            yield Finding(named.where, None, reason, "write `ttl: 24h`", key=named.key, raw=raw)


def run_time(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Pods that may run longer than the environment allows."""
    limit = environment.limits.max_run_time
    for template in judged.templates if limit is not None else ():
        most = seconds(str(limit))
        deadline = _deadline(template)
        if deadline is None or deadline > most:
            reason = f"the pods may run longer than the environment {environment.name} allows ({limit})"
            fix = f"write under `roles.{template.role}`: `pod_overrides: {{spec: {{{DEADLINE}: {most}}}}}`, or less"
            raw = Raw(f"spec.{DEADLINE}", f"write `{DEADLINE}: {most}` there, or less")
            yield Finding(raw.where, deadline, reason, fix, template, raw=raw)


def _deadline(template: Template) -> int | None:
    """The seconds after which the pods end: their own, or those of the job."""
    given = [template.spec.get(DEADLINE), template.run_time]
    return min((each for each in given if isinstance(each, int)), default=None)
