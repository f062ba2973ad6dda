"""An environment that takes images of one registry alone, and an object that is judged in it."""

from __future__ import annotations

import datetime
from typing import Any

from tests.resources.policy_pack.raw import raw_objects
from tests.support.samples import environment
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob, render_job
from trainform.resources.policy_pack.judgement import Resource, Verdict, verdict
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment

TODAY = datetime.date(2026, 12, 1)
GOOD, ELSEWHERE = "registry.example.com/ai/train:1.0", "other.example.com/ai/train:1.0"
REGISTRY = environment(limits={"registries": ["registry.example.com"]})
COMPONENT = "urn:pulumi:dev::trainform::trainform:index:TrainingJob::{}"
KINDS = sorted(raw_objects(GOOD))


def found(code: str, body: dict[str, Any], cluster: Environment = REGISTRY, **more: Any) -> Verdict:
    return verdict(BY_CODE[code], Resource("train", body, **more), cluster, TODAY)


def strict(cluster: Environment) -> Environment:
    """The environment with limits that every teaching experiment breaks."""
    limits = {"registries": ["nowhere.example.com"], "severity": {"TF-IMG-2": "error"}, "max_accelerators": 0}
    return cluster.model_copy(update={"limits": environment(limits=limits).limits})


def rendered(name: str, backend: str) -> RenderedJob:
    job = check_experiment(name, "dev").or_raise()
    return render_job(job.experiment.model_copy(update={"backend": backend}), job.environment)
