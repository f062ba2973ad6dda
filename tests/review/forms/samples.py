"""Reports for the tests of forms, as a review makes them: a usual one, one that has everything, and one that has
nothing."""

from __future__ import annotations

import copy
import dataclasses
import datetime
from fractions import Fraction
from typing import Any

from msgspec import structs

from tests.review.jobs import ELASTIC, LORA, change, context, name_of, object_step, running, urn
from tests.review.screen import PRICED, TODAY, checked, nodes
from tests.support.samples import CLUSTER
from trainform.cluster.facts import LiveFacts
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.review.context import Context
from trainform.review.model import Finding, Money, Place, Report, Selection
from trainform.review.preview import Message, Preview
from trainform.review.report import Checked, build_report
from trainform.review.whole import review_of
from trainform.spec.environment import Environment

FILE = "stacks/experiments/sdxl-lora.yaml"
OLD = "registry.example.com/ai/diffusers-lora:2.3"
NEW = "registry.example.com/ai/diffusers-lora:2.4"
LINES = {"image": 4, "storage.dataset": 21, "roles.worker.replicas": 30}


def usd(amount: str) -> Money:
    return Money(amount=amount, currency="USD")


def report(stack: str, preview: Context, by_files: Checked = None, prices: Any = PRICED, **more: Any) -> Report:
    """The report on a preview of the stack, in an environment with prices."""
    environment = Environment.model_validate({**prices, "name": stack.partition(".")[2]})
    given: dict[str, Any] = {"environment": environment, "today": TODAY, "locate": _locate} | more
    return build_report(dataclasses.replace(preview, stack=stack, **given), by_files)


def _locate(path: str) -> Place:
    return Place(path=path, file=FILE, line=LINES.get(path, 0))


def _cluster(experiment: dict[str, Any], others: str = "") -> LiveFacts:
    """A cluster in which the job runs on four of eight nodes. others: the job that holds the rest of them."""
    job = name_of(experiment)
    offered = nodes(job)
    if others:
        held = {"baidu.com/a800_80g_cgpu": "8"}
        rest = {"requested": held, "holders": {f"ai-namespace/{others}": held}}
        offered = tuple(node if node.holders else structs.replace(node, **rest) for node in offered)
    return structs.replace(running(job), nodes=offered)


WAS = {**LORA, "image": OLD}
USUAL = report(
    "sdxl-lora.prod",
    change(WAS, {**WAS, "image": NEW}, _cluster(WAS)),
    checked([], {"severity": {}}),
    hours=Fraction(72),
)


def finding(**given: Any) -> Finding:
    """The restart of a running job, with other fields."""
    return Finding.model_validate(USUAL.findings[0].model_dump() | given)


def _rich() -> Report:
    """A job with a secret and a claim fewer and more pods, for which neither room nor a price is there."""
    roles = copy.deepcopy(LORA["roles"])
    roles["worker"]["env"] = {"HF_TOKEN": MASK}
    dataset = {"size": "1Ti", "class": "fast", "mount": "/data"}
    before = {**WAS, "roles": roles, "storage": {**LORA["storage"], "dataset": dataset}}
    grown = {"worker": {**roles["worker"], "replicas": 8, "env": {"HF_TOKEN": CHANGED_MASK}}}
    after = {**before, "image": NEW, "roles": grown, "storage": LORA["storage"]}
    preview = change(before, after, _cluster(before, "llama-sft-20ab4c"))
    steps = (
        object_step("update", "ConfigMap", "notes", {"data": "x" * 400}, {"data": "y" * 500}, detail={}),
        object_step("reconcile", "random:index:Widget", "of-another-provider", {}, {}),
    )
    messages = (Message("warning", "the field will be removed", urn("kubernetes:core/v1:Pod", "sdxl-lora-job")),)
    made = structs.replace(
        preview.preview,
        steps=(*preview.preview.steps, *steps),
        messages=messages,
        not_checked=("A digest has no policy results.",),
        masked=2,
    )
    preview = dataclasses.replace(preview, preview=made)
    waiver = {"rule": "TF-IMG-2", "reason": "a deadline", "owner": "team-lead"}
    [image] = [each for each in report("sdxl-lora.prod", preview, checked([])).findings if each.code == "TF-IMG-2"]
    waivers = [
        {**waiver, "finding": image.fingerprint, "until": datetime.date(2026, 12, 31)},
        {**waiver, "finding": "1234567890abcdef", "until": datetime.date(2026, 10, 31)},
    ]
    return report("sdxl-lora.prod", preview, checked(waivers), CLUSTER)


RICH = _rich()
NOTHING = context(preview=Preview("stream", ()), live=LiveFacts("2026-11-23T20:00:00Z", jobs=()))
EMPTY = report("hello.dev", NOTHING, checked([], {"severity": {}}))
FAILED = report(
    "llama-sft.prod",
    context(preview=Preview("stream", (), failed="error: incorrect passphrase\nset PULUMI_CONFIG_PASSPHRASE")),
    checked([], {"severity": {}}),
    live=NOTHING.live,
)
MORE = {**ELASTIC, "name": "resnet", "roles": {"worker": {"replicas": 5, "accelerators": {"a800": 8}}}}
CHEAPER = report(
    "resnet.prod", change(MORE, {**MORE, "roles": ELASTIC["roles"]}, _cluster(MORE)), checked([], {"severity": {}})
)
SEVERAL = review_of(
    [USUAL, EMPTY, CHEAPER],
    Selection(
        since="origin/main",
        base="6f1c0de5b7a24c9e8d3f52a1b0c4e7f9d8a61b35",
        touched={
            "sdxl-lora.prod": ["stacks/Pulumi.sdxl-lora.prod.yaml", FILE],
            "resnet.prod": [f"components/vision/part_{number}.py" for number in range(7)],
            "hello.dev": ["requirements.txt"],
        },
        removed=["bert.prod"],
    ),
)
ONE_FAILED = review_of([RICH, FAILED])
