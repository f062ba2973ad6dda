"""The four facts of a review, from its effects, cost and capacity."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.forms.samples import EMPTY, RICH, usd
from trainform.review.facts import facts_of
from trainform.review.model import Cost, Dependents, Effect


def effect(kind: str, thing: str, name: str, **more: Any) -> Effect:
    return Effect.model_validate({"kind": kind, "thing": thing, "object": name, "sentence": "", **more})


def facts(*effects: Effect, **more: Any) -> dict[str, tuple[str, str]]:
    given: dict[str, Any] = {"dependents": [], "cost": Cost(), "capacity": EMPTY.capacity} | more
    return {fact.key: (fact.number, fact.text) for fact in facts_of(effects, **given)}


@pytest.mark.parametrize(("kind", "more", "text"), [
    ("replace", {"state": "running", "age": "16 h"}, "lora-1f3a9c (up 16 h) stops and starts again"),
    ("replace", {"state": "finished"}, "lora-1f3a9c has finished and starts again"),
    ("replace", {"state": "unknown"}, "lora-1f3a9c, which may be running, starts again"),
    ("stop", {"state": "running", "age": "2 d"}, "lora-1f3a9c (up 2 d) stops"),
    ("create", {}, "lora-1f3a9c is new"),
])  # fmt: skip
def test_the_run_of_one_job(kind: str, more: dict[str, Any], text: str) -> None:
    assert facts(effect(kind, "job", "lora-1f3a9c", size="32 a800", **more))["run"] == ("32 a800", text)


def test_the_run_of_several_jobs_and_of_an_environment() -> None:
    jobs = [effect("create", "job", f"job-{number}", size="8 a800") for number in range(5)]
    assert facts(*jobs)["run"] == ("5 jobs", "job-0 is new; job-1 is new; job-2 is new; 2 more")
    users = Dependents(kind="Queue", object="q", stacks={"a.prod": "resnet", "b.prod": "sdxl-lora"}, sentence="")
    assert facts(dependents=[users])["run"] == ("2 experiments", "used by resnet, sdxl-lora")


def test_data_has_the_worst_first() -> None:
    assert facts()["data"] == ("unchanged", "")
    kept, new, lost = (effect(kind, "claim", kind) for kind in ("keep", "create", "delete"))
    same = effect("update", "claim", "delete")
    assert facts(kept, same, new, lost)["data"] == ("1 claim deleted", "delete; 1 new or adopted; 1 unchanged")
    assert facts(lost, effect("delete", "namespace", "ml"))["data"] == (
        "all claims", "1 namespace deleted with all claims: ml",
    )  # fmt: skip
    assert facts(effect("replace", "namespace", "ml", kept=True))["data"] == ("unchanged", "")


def test_cost_and_queue() -> None:
    more = Cost(before=usd("72.00"), after=usd("96.00"), difference=usd("24.00"), hours="72", total=usd("6912.00"))
    assert facts(cost=more)["cost"] == ("+24.00 USD/h", "72.00 USD → 96.00 USD an hour, 6912.00 USD for 72 h")
    same = Cost(
        before=usd("49.60"), after=usd("49.60"), difference=usd("0.00")
    )  # what it was by other prices is unknown
    assert facts(cost=same)["cost"] == ("+0.00 USD/h", "49.60 USD an hour by the environment's prices")
    assert facts(cost=RICH.cost)["cost"] == ("unknown", "no price of a800.")
    held = "32 a800 missing, held by ai-namespace/llama-sft-20ab4c: 32"
    assert facts(capacity=RICH.capacity)["queue"] == ("waits", held)
    assert facts()["cost"] == ("none", "")
