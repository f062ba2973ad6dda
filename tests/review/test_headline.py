"""The first line of a report."""

from __future__ import annotations

from tests.review.jobs import ELASTIC, LORA, change, name_of, running
from trainform.review.context import Context
from trainform.review.effects import effects
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
