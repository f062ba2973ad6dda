"""The review that README and the documents show: a variable of a running job changes."""

from __future__ import annotations

import copy
import dataclasses
import datetime
from fractions import Fraction
from typing import Any

import yaml
from msgspec import structs

from tests.review.jobs import LORA, change, locate, name_of, running
from tests.support.samples import CLUSTER
from trainform.cluster.facts import LiveNode
from trainform.job.check import CheckedJob, check_experiment
from trainform.review.context import Context
from trainform.review.model import Review
from trainform.review.report import build_report
from trainform.review.whole import review_of
from trainform.spec.environment import Environment
from trainform.spec.load import Text

TODAY = datetime.date(2026, 11, 23)
PRICE = {"amount": 3, "currency": "USD", "as_of": datetime.date(2026, 9, 1)}
PRICED: dict[str, Any] = copy.deepcopy(dict(CLUSTER))
PRICED["accelerators"]["a800"]["price_per_hour"] = PRICE
TRACED = copy.deepcopy(LORA)
TRACED["roles"]["worker"]["env"] = {"NCCL_DEBUG": "INFO"}


def shown_review() -> Review:
    """The review as its command would make it."""
    live = structs.replace(running(name_of(LORA)), nodes=nodes(name_of(LORA)))
    context = dataclasses.replace(reviewed(hours=Fraction(72)), stack="sdxl-lora.dev", live=live)
    return review_of([build_report(context, checked([], {"severity": {}}))])


def nodes(job: str) -> tuple[LiveNode, ...]:
    """The environment's nodes: the job holds the accelerators of the first four, and nobody those of the others."""
    accelerators = {"baidu.com/a800_80g_cgpu": "8"}
    offered = {"cpu": "128", "memory": "1000Gi", "pods": "110", **accelerators}
    return tuple(
        LiveNode(f"a800-{number}", {}, (), offered, accelerators, {f"ai-namespace/{job}": accelerators})
        if number < 4
        else LiveNode(f"a800-{number}", {}, (), offered, {})
        for number in range(8)
    )


def reviewed(**more: Any) -> Context:
    """The change, with what is known of the cluster."""
    given = {"locate": locate, "today": TODAY, "environment": Environment.model_validate(PRICED)} | more
    return change(LORA, TRACED, running(name_of(LORA)), **given)


def checked(waivers: list[dict[str, Any]], limits: dict[str, Any] | None = None) -> CheckedJob:
    """The experiment in an environment that wants digests."""
    environment = copy.deepcopy(PRICED)
    environment["limits"] = {
        "host_network": True,
        "severity": {"TF-IMG-2": "error", "TF-RUN-1": "warning"},
        "waivable": {"TF-IMG-2": ["team-lead"]},
    } | ({} if limits is None else limits)
    texts = [
        Text(name, yaml.safe_dump(data))
        for name, data in (("lora", TRACED | {"waivers": waivers}), ("dev", environment))
    ]
    return check_experiment(texts[0], texts[1], today=TODAY)
