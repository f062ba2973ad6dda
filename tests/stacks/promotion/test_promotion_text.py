"""What is told of a promotion: in sentences, and as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.deployed.releases.test_promote import source
from tests.support.releases import FORGED, IMAGE, PROMOTED, forged, project, release
from tests.support.samples import environment
from trainform.console import terminal
from trainform.deployed.releases.gates import GateResult
from trainform.deployed.releases.release import Rollback
from trainform.deployed.stacks import places
from trainform.job.check import check_experiment
from trainform.spec.release import ReleasedExperiment
from trainform.stacks.comparison.compare import compare, deployed_version
from trainform.stacks.drift.report_model import NotCompared, ObjectDrift, Outcome, StackDrift
from trainform.stacks.promotion.prepare_promotion import PreparedPromotion, PromotionRequest, version_of
from trainform.stacks.promotion.promotion_text import as_data, headline, sections

PARTS: dict[str, Any] = {"image": IMAGE, "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}}}


@pytest.fixture
def prepared(tmp_path: Path) -> PreparedPromotion:
    """A promotion to a stack that runs one role less."""
    project(tmp_path)
    found = source(environment(), **PARTS)
    asked = PromotionRequest("sdxl-lora", *places("sdxl-lora", "dev", "prod", tmp_path))
    made = release(**PARTS)
    job = check_experiment(ReleasedExperiment("sdxl-lora", made.name, made.experiment), "prod", 1, tmp_path).or_raise()
    smaller = {**PARTS, "roles": {"worker": {"replicas": 1, "accelerators": {"a800": 8}}}}
    will, deployed = version_of(job), deployed_version("now", source(environment(name="prod"), **smaller).record)
    comparisons = compare(deployed_version("sdxl-lora.dev, deployed", found.record), will), compare(deployed, will)
    return PreparedPromotion(
        asked, found, made, None, False, (GateResult("succeeded", "passed"),), *comparisons, edited()
    )


def shown(prepared: PreparedPromotion) -> str:
    lines = terminal.lines_of([sections(prepared)], 100)
    return " ".join(" ".join(line.text for line in lines).split())


def test_a_target_that_cannot_be_read(prepared: PreparedPromotion) -> None:
    found = structs.replace(prepared, not_read="the cluster does not answer", changes=None)
    text = shown(found)
    assert "Nothing is deployed" not in text
    assert "What changes in sdxl-lora.prod is unknown." in text
    assert "What is deployed in the target is unknown: the cluster does not answer." in text


@pytest.mark.parametrize(
    ("changes", "result", "told"),
    [
        ({}, "not written", "will follow a new release"),
        ({"same": True}, "same", "there is nothing to promote"),
        (
            {"judged": (GateResult("soak", "refused", "too early", "wait"),)},
            "refused",
            "Refused by soak: nothing is written.",
        ),
    ],
)
def test_what_becomes_of_it(changes: dict[str, Any], result: str, told: str, prepared: PreparedPromotion) -> None:
    found = structs.replace(prepared, **changes)
    assert ("Once it is written, `trainform review sdxl-lora.prod` shows" in shown(found)) is (not changes)
    data = as_data(found, written=False)
    assert (data["result"], data["ok"]) == (result, result != "refused")
    assert told in headline(found)
    assert (data["release"], data["path"]) == (None, None)
    assert as_data(prepared, written=True)["release"] == prepared.release.name


def test_what_changes_in_the_target_comes_first(prepared: PreparedPromotion) -> None:
    """In 80 columns; what the source has differently comes behind the gates."""
    lines = [line.text for line in terminal.lines_of([sections(prepared)], 80)]
    assert max(map(len, lines)) <= 80
    assert prepared.release.name not in " ".join(lines), "which it has only when it is written, by the time of that"
    rows = {row["path"]: row["values"] for row in as_data(prepared, written=False)["changes"]["experiment"]}
    assert rows == {"roles.worker.replicas": (1, 2)}, "deployed in the target, and as it will be"
    assert lines[:12] == [
        "Promotion of sdxl-lora from sdxl-lora.dev to sdxl-lora.prod",
        "  sdxl-lora.prod will follow a new release.",
        "  1 field of sdxl-lora.prod changes.",
        "",
        "What changes in sdxl-lora.prod",
        "  field                  now  as it will be",
        "  roles.worker.replicas  1    2",
        "",
        "Gates",
        "  succeeded: passed.",
        "",
        "What differs from sdxl-lora.dev by their environments",
    ]


def test_how_much_changes(prepared: PreparedPromotion) -> None:
    refused = structs.replace(prepared, judged=(GateResult("soak", "refused", "too early", "wait"),))
    assert "1 field of sdxl-lora.prod would change." in shown(refused)
    will = prepared.comparison.versions[1]
    assert "Nothing of sdxl-lora.prod changes." in shown(structs.replace(prepared, changes=compare(will, will)))
    first = structs.replace(prepared, changes=None)
    assert "Nothing is deployed in sdxl-lora.prod: all of it is new." in shown(first)


def test_a_rollback_is_named(prepared: PreparedPromotion) -> None:
    back = release(PROMOTED).model_copy(update={"rollback": Rollback(of=None, to=None, reason="the loss rises")})
    found = structs.replace(prepared, before=back)
    text = shown(found)
    assert "follows a rollback" in text
    assert "Refused: sdxl-lora.prod was rolled back" in text
    assert as_data(found, written=False)["result"] == "refused"
    over = structs.replace(found, request=structs.replace(found.request, over_rollback=True))
    assert (found.may_be_written, over.may_be_written) == (False, True)
    assert "will follow a new release" in shown(over)
    assert "the loss rises" in text
    assert "Ada Byron" in text


def test_what_somebody_has_forged_is_masked(prepared: PreparedPromotion) -> None:
    """In the rollback that the target follows, and in the release that a promotion which was ended half way has
    written."""
    found = structs.replace(prepared, before=forged(is_rollback=True), release=forged())
    assert FORGED[:4] not in shown(found)
    assert FORGED[:4] not in f"{as_data(found, written=False)}"


def test_an_image_that_only_the_target_has_is_told(prepared: PreparedPromotion) -> None:
    assert "has not run" not in shown(prepared)
    found = structs.replace(prepared, new_images={"environments.prod.image": IMAGE})
    told = "environments.prod.image names an image that sdxl-lora.dev has not run: only sdxl-lora.prod has it."
    assert told in shown(found)
    assert as_data(found, written=False)["new_images"] == [{"path": "environments.prod.image", "image": IMAGE}]


def edited(*objects: ObjectDrift, not_compared: list[NotCompared] | None = None) -> StackDrift:
    """What a comparison has found in the source."""
    outcome = Outcome.drift if objects else Outcome.in_sync
    found = {"objects": [*objects], "not_compared": [] if not_compared is None else not_compared}
    names = {"stack": "sdxl-lora.dev", "experiment": "sdxl-lora", "environment": "dev"}
    return StackDrift.model_validate({**names, "outcome": outcome, **found})


@pytest.mark.parametrize(
    ("drift", "told"),
    [
        (
            edited(ObjectDrift(kind="Queue", name="sdxl-lora", namespace="", state="changed")),
            "sdxl-lora.dev is not as deployed, so what has run there may not be what is promoted: `trainform drift "
            "sdxl-lora.dev` shows it.",
        ),
        (
            edited(not_compared=[NotCompared(what="cluster", reason="it does not answer")]),
            "The drift of sdxl-lora.dev is unknown: cluster: it does not answer.",
        ),
    ],
)
def test_the_drift_of_the_source_is_a_note(drift: StackDrift, told: str, prepared: PreparedPromotion) -> None:
    found = structs.replace(prepared, drift=drift)
    assert told in shown(found)
    assert as_data(found, written=False)["drift"] == drift.model_dump(mode="json")
    assert "not as deployed" not in shown(structs.replace(prepared, drift=edited()))
