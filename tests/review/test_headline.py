"""The first line of a report."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import ELASTIC, LORA, change, context, name_of, object_step, running
from trainform.review.context import Context
from trainform.review.effects import effects
from trainform.review.findings.data import find
from trainform.review.headline import headline
from trainform.review.kinds import Kind
from trainform.review.model import Category, Cost, Finding, Money

FREE = Cost(difference=Money(amount="0.00", currency="USD"))
HIGH = Kind("TR-RESTART-1", Category.restart, "high", "A running job is replaced.", "why", "fix").finding("sdxl-lora")
IMAGE = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}


def line(made: Context, findings: list[Finding] | None = None, cost: Cost = FREE) -> str:
    return headline(made, effects(made), [] if findings is None else findings, cost)


def test_a_replacement_says_what_runs_why_and_where_the_data_stay() -> None:
    name = name_of(LORA)
    assert line(change(LORA, IMAGE, running(name)), [HIGH]) == (
        f"Replaces the running job {name} (up 16 h, 32 a800) because `image` changes; "
        "checkpoints stay in sdxl-lora-checkpoints. +0.00 USD/h. 1 high finding."
    )


def test_scaling() -> None:
    larger = {**ELASTIC, "roles": {"worker": {**ELASTIC["roles"]["worker"], "replicas": 5}}}
    assert line(change(ELASTIC, larger), cost=Cost()) == "Scales the elastic role worker 3 → 5 in place."


def test_nothing_changes_costs_nothing() -> None:
    assert line(change(LORA, LORA)) == "Nothing changes."


def test_a_preview_that_is_not_whole_does_not_say_that_nothing_changes() -> None:
    whole = change(LORA, LORA)
    made = dataclasses.replace(whole, preview=structs.replace(whole.preview, incomplete=True))
    assert line(made, [HIGH]) == "It is not known what changes: the preview is not whole. 1 high finding."
    scaled = change(ELASTIC, {**ELASTIC, "roles": {"worker": {**ELASTIC["roles"]["worker"], "replicas": 5}}})
    made = dataclasses.replace(scaled, preview=structs.replace(scaled.preview, incomplete=True))
    assert line(made, cost=Cost()) == (
        "Scales the elastic role worker 3 → 5 in place. It is not known what else changes: the preview is not whole."
    )


def test_whether_it_runs_is_not_known_without_a_cluster() -> None:
    said = line(change(LORA, IMAGE))
    assert said.startswith(f"Replaces the job {name_of(LORA)} (32 a800; whether it runs is not known: the cluster")


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(difference=Money(amount="24", currency="USD")), "+24.00 USD/h."),
        (Cost(difference=Money(amount="-1.5", currency="CNY")), "-1.50 CNY/h."),
        (Cost(known=False, unknown="no price for a800"), "What it costs is not known."),
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


def test_a_claim_that_goes_with_the_job_is_named() -> None:
    without = {**LORA, "storage": {}, "image": IMAGE["image"]}
    data = {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], "keep": False}}}
    said = line(change(data, without, running(name_of(data))), cost=Cost())
    assert said.endswith(
        "because `image` and `storage.checkpoints` change; the claim sdxl-lora-checkpoints is deleted."
    )
    assert "stay" not in said


def test_a_new_environment_is_told_by_its_namespace_and_its_queue() -> None:
    queue = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
    made = [
        object_step("create", kind, name, None, {})
        for kind, name in (("PersistentVolumeClaim", "corpus"), (queue, "default"), ("Namespace", "ai-namespace"))
    ]
    assert line(context(others=made), cost=Cost()) == (
        "Creates the namespace ai-namespace and the queue default. 1 more effect."
    )
    assert line(context(others=made[:1]), cost=Cost()) == "Creates the claim corpus."


def test_a_namespace_that_goes_with_everything_in_it_comes_first() -> None:
    gone = [
        object_step("delete", kind, name, {}, None)
        for kind, name in (("Namespace", "ai"), ("PersistentVolumeClaim", "a"))
    ]
    lost = "The namespace ai is deleted, and everything in it is deleted."
    for others, rest in ((gone, " Deletes the claim a."), (gone[:1], "")):
        made = context(others=others)
        assert line(made, [*find(made)][-1:], Cost()) == f"{lost}{rest} 1 high finding."
    job = dataclasses.replace(change(LORA, IMAGE), preview=made.preview)
    assert line(job, [*find(made)], Cost()).startswith(f"{lost} Replaces the job ")
