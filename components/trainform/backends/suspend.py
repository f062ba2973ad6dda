"""Suspend a job by a field of its object: the operator ends its pods, and starts them when the field is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.spec.layers import merge_patch
from trainform.spec.stack import SUSPEND

NOTE = f"{SUSPEND}: the job has no pods until `trainform resume`"


def suspend_problems(plan: Plan) -> Iterator[Problem]:
    """Yield a problem if a field of the job object cannot suspend the job."""
    reason, fix = "the job has no field that suspends it", BACKENDS[plan.backend].suspend_fix(plan)
    if plan.admission == defaults.KUEUE:
        reason, place = "Kueue admits this job, and would start it again", f"-n {plan.namespace}"
        find = f"`kubectl get workloads {place}` shows the NAME"
        fix = f"use `kubectl kueue stop workload NAME {place}` instead of this key; {find}"
    if fix:
        yield Problem(SUSPEND, "true", reason, fix)


def suspended(manifests: Iterable[Manifest], plan: Plan) -> tuple[Manifest, ...]:
    """Return the objects with the job suspended."""
    (path,) = BACKENDS[plan.backend].SUSPENDED
    patch: Any = True
    for key in reversed(path.split(".")):
        patch = {key: patch}
    return tuple(
        structs.replace(each, body=merge_patch(each.body, patch)) if each.is_job else each for each in manifests
    )
