"""The first line of a report."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import ELASTIC, LORA, change, context, name_of, object_step, running
from trainform.cluster.phases import Phase
from trainform.review.context import Context
from trainform.review.effects import effects
from trainform.review.headline import headline
from trainform.review.kinds import Kind
from trainform.review.model import Capacity, Category, Cost, Finding, Money

FREE = Cost(difference=Money(amount="0.00", currency="USD"))
NOW = Capacity(verdict="now", sentence="It fits.", basis="cluster")
HIGH = Kind("TR-RESTART-1", Category.restart, "high", "A running job is replaced.", "why", "fix").finding("sdxl-lora")
IMAGE = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}
LARGER = {**ELASTIC, "roles": {"worker": {**ELASTIC["roles"]["worker"], "replicas": 5}}}
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
WAITS = "waits for 8 a800 held by clip"


def line(made: Context, findings: list[Finding] | None = None, cost: Cost | None = None, clause: str = "") -> str:
    found = [] if findings is None else findings
    capacity = NOW.model_copy(update={"clause": clause})
    return headline(made, effects(made), found, Cost() if cost is None else cost, capacity)


def test_a_replacement_has_what_runs_why_and_where_the_data_stay() -> None:
    name = name_of(LORA)
    assert line(change(LORA, IMAGE, running(name)), [HIGH], FREE) == (
        f"Replaces the running job {name} (32 a800, up 16 h) because `image` changes; "
        "data stays in sdxl-lora-checkpoints. +0.00 USD/h. 1 high finding."
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            change(LORA, IMAGE, running(name_of(LORA))),
            f"Stops the running job {name_of(LORA)} (32 a800, up 16 h) because `image` changes; the new one {WAITS}; "
            "data stays in sdxl-lora-checkpoints.",
        ),
        (
            change(LORA, IMAGE, running(name_of(LORA), Phase.SUCCEEDED)),
            f"Replaces the finished job {name_of(LORA)} (32 a800, succeeded) because `image` changes; the new one "
            f"{WAITS}; data stays in sdxl-lora-checkpoints.",
        ),
        (change(None, LORA), f"Creates the job {name_of(LORA)} (32 a800), which {WAITS}."),
        (change(ELASTIC, LARGER), f"Scales the elastic role worker 3 → 5 in place; it {WAITS}."),
    ],
)
def test_what_keeps_the_new_job_from_starting(made: Context, expected: str) -> None:
    assert line(made, clause=WAITS) == expected
    missing = dataclasses.replace(made, missing=("the Secret hf",))
    assert line(missing, clause=WAITS) == expected.replace(WAITS, "never starts: the Secret hf does not exist")


def test_nothing_changes_and_costs_nothing() -> None:
    assert line(change(LORA, LORA), cost=FREE) == "Nothing changes."


def test_a_preview_that_is_not_complete_does_not_say_that_nothing_changes() -> None:
    def cut(whole: Context) -> Context:
        return dataclasses.replace(whole, preview=structs.replace(whole.preview, incomplete=True))

    assert line(cut(change(LORA, LORA)), [HIGH]) == (
        "What would change is unknown: the preview is not complete. 1 high finding."
    )
    assert line(cut(change(ELASTIC, LARGER))) == (
        "Scales the elastic role worker 3 → 5 in place. Other changes are unknown: the preview is not complete."
    )


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(difference=Money(amount="24", currency="USD")), "+24.00 USD/h."),
        (Cost(difference=Money(amount="-1.5", currency="CNY")), "-1.50 CNY/h."),
        (Cost(known=False, unknown="no price for a800"), "The cost is unknown."),
    ],
)
def test_the_cost(cost: Cost, said: str) -> None:
    assert line(change(None, LORA), cost=cost) == f"Creates the job {name_of(LORA)} (32 a800). {said}"


def test_findings_are_counted_by_level_without_those_that_are_waived() -> None:
    def of(level: Any, waived: bool = False) -> Finding:
        return HIGH.model_copy(update={"level": level, "waived": waived})

    made = change(LORA, LORA)
    assert line(made, [of("low"), of("high"), of("high", True), of("low")]).endswith(" 1 high and 2 low findings.")
    assert line(made, [of("medium")]).endswith(" 1 medium finding.")
    assert line(made, [of("high", True)]) == "Nothing changes."


def test_a_claim_that_is_deleted_with_the_job() -> None:
    without = {**LORA, "storage": {}, "image": IMAGE["image"]}
    data = {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], "keep": False}}}
    said = line(change(data, without, running(name_of(data))))
    assert said.endswith("because `image` and `storage.checkpoints` change; deletes the claim sdxl-lora-checkpoints.")


def test_several_jobs_and_objects_are_counted_the_worst_first() -> None:
    other = {**LORA, "name": "llama"}
    jobs = [*change(LORA, IMAGE).jobs, *change({**IMAGE, "name": "llama"}, other).jobs]
    queues = [object_step("create", QUEUE, name, None, {}) for name in ("day", "night")]
    assert line(context(*jobs, others=queues, live=running(name_of(LORA)))) == (
        "Replaces 2 jobs, creates 2 queues; stops 1 running job."
    )


def test_a_new_environment_and_one_that_is_deleted() -> None:
    kinds = (("PersistentVolumeClaim", "corpus"), (QUEUE, "default"), ("Namespace", "ai"))
    made = [object_step("create", kind, name, None, {}) for kind, name in kinds]
    assert line(context(others=made)) == ("Creates the namespace ai, the queue default and the claim corpus.")
    assert line(context(others=made[:1])) == "Creates the claim corpus."
    gone = [object_step("delete", kind, name, {}, None) for kind, name in kinds]
    assert line(context(others=gone)) == (
        "Deletes the namespace ai and everything in it. Deletes the queue default and the claim corpus."
    )
    lost = dataclasses.replace(change(LORA, IMAGE), preview=context(others=gone[-1:]).preview)
    assert line(lost).startswith("Deletes the namespace ai and everything in it. Replaces the job ")
