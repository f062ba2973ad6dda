"""What a release lacks by its own evidence, in a stack whose file names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.releases import FORGED, ORIGIN, PROMOTED, project, release
from tests.support.samples import environment
from trainform.check import check_experiment
from trainform.project import release_path
from trainform.releases.evidence import Lack, lacks, lacks_of
from trainform.releases.model import Release, Rollback
from trainform.spec.release import Released, digest

STACK = "sdxl-lora.prod"
ASKED: dict[str, Any] = {"from": ["dev"], "soak": "24h"}


def found(made: Release, stack: str = STACK, **asked: Any) -> list[tuple[str, str]]:
    return [(lack.gate, lack.text) for lack in lacks(stack, made, environment(name="prod", promotion=asked))]


def promoted(**changes: Any) -> Release:
    return release(PROMOTED.model_copy(update={"gates": {"from": "passed", "soak": "waived"}, **changes}))


def test_a_release_that_was_promoted_here_under_these_gates_lacks_nothing() -> None:
    assert found(promoted(), **ASKED) == []


def test_a_release_of_another_stack_is_told_where_the_environment_asks_for_gates() -> None:
    made = promoted(target="sdxl-lora.staging")
    assert found(made, **ASKED) == [
        (
            "",
            f"The stack {STACK} names release {made.name}, which was promoted to sdxl-lora.staging and not to {STACK}. "
            "Nobody has judged the gates of prod: from, soak.",
        )
    ]
    assert found(made) == [], "the environment asks for nothing"


@pytest.mark.parametrize("written", ["x" * 100_000, f"password={FORGED}", f"https://user:{FORGED}@example.com/"])
@pytest.mark.parametrize("field", ["target", "environment"])
def test_what_somebody_has_forged_is_neither_long_nor_a_secret(field: str, written: str) -> None:
    """The stack to which the release was promoted, or the environment from which it is."""
    made = promoted(target=written) if field == "target" else promoted()
    if field == "environment":
        made = made.model_copy(update={"origin": ORIGIN.model_copy(update={"environment": written})})
    (lack,) = lacks(STACK, made, environment(name="prod", promotion=ASKED))
    assert len(lack.text) < 400
    assert FORGED not in f"{lack}"


@pytest.mark.parametrize("gates", [{"from": "passed"}, {"from": "passed", "soak": "refused"}])
def test_a_gate_that_nobody_has_judged_is_told(gates: dict[str, str]) -> None:
    made = promoted(gates=gates)
    text = f"The environment prod asks for the gate soak, which release {made.name} has neither passed nor waived."
    assert found(made, **ASKED) == [("soak", text)]


def test_a_release_from_an_environment_that_is_no_source_any_more_is_told() -> None:
    made = promoted()
    text = (
        f"The environment prod takes releases from staging only, and release {made.name} is from "
        f"{made.origin.environment}."
    )
    assert found(made, **{**ASKED, "from": ["staging"]}) == [("from", text)]
    waived = promoted(gates={"from": "waived", "soak": "passed"})
    assert found(waived, **{**ASKED, "from": ["staging"]}) == []


def test_a_rollback_has_no_gates_and_is_of_its_own_stack() -> None:
    back = Rollback(of="0123456789abcdef0123", to=None, reason="the loss rises")
    made = release(PROMOTED.model_copy(update={"gates": {}})).model_copy(update={"rollback": back})
    assert found(made, **ASKED) == []
    assert [gate for gate, _ in found(made, "sdxl-lora.staging", **ASKED)] == [""]


@pytest.mark.parametrize(
    "change",
    [
        {"origin": None, "promoted": None},
        {"surplus": 1},
        {"promoted": {**PROMOTED.model_dump(by_alias=True), "gates": None}},
        {"promoted": {**PROMOTED.model_dump(by_alias=True), "to": None}},
        {"rollback": []},
    ],
    ids=["no evidence", "a surplus key", "no gates", "no stack", "a rollback of nothing"],
)
def test_evidence_in_a_form_that_nobody_knows_is_none(change: dict[str, Any], tmp_path: Path) -> None:
    """The name is the hash of what is in the file, and its experiment is fit: no check of the file says it."""
    data = {key: value for key, value in (promoted().data() | change).items() if value is not None}
    name = digest(data)
    project(tmp_path, promoted())
    (tmp_path / release_path("sdxl-lora", name)).write_text(yaml.safe_dump(data, sort_keys=False))
    assert not check_experiment(Released("sdxl-lora", name), "prod", root=tmp_path).problems
    (lack,) = lacks_of(f"vision/{STACK}", "sdxl-lora", name, environment(name="prod", promotion=ASKED), tmp_path)
    assert lack == Lack("", name, "", lack.text)
    assert lack.text == (
        f"The stack {STACK} names release {name}, in a form that this version of trainform does not know: nobody can "
        "read who judged it. Nobody has judged the gates of prod: from, soak."
    )
    assert lacks_of(STACK, "sdxl-lora", name, environment(name="prod"), tmp_path) == (), "nothing is asked for"


def test_the_release_of_a_stack_is_read_from_its_file(tmp_path: Path) -> None:
    name = project(tmp_path, promoted(target="sdxl-lora.staging"))
    prod = environment(name="prod", promotion=ASKED)
    (lack,) = lacks_of(f"vision/{STACK}", "sdxl-lora", name, prod, tmp_path)
    assert lack == Lack("", name, "sdxl-lora.staging", lack.text)
    assert lacks_of(STACK, "sdxl-lora", None, prod, tmp_path) == ()
    assert lacks_of(STACK, "sdxl-lora", "0123456789abcdef0123", prod, tmp_path) == (), (
        "which the check of the file says"
    )
