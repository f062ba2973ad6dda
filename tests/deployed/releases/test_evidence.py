"""What a stack lacks by the gates of its environment, and which of it refuses the stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.releases import FORGED, ORIGIN, PROMOTED, project, release
from tests.support.samples import environment, experiment
from trainform.deployed.releases.evidence import Lack, check_gates, lacks, lacks_of
from trainform.deployed.releases.release import Release, Rollback
from trainform.errors import Problem
from trainform.job.check import check_experiment
from trainform.project import release_path
from trainform.spec.release import ReleasedExperiment, digest

STACK = "sdxl-lora.prod"
ASKED: dict[str, Any] = {"from": ["dev"], "soak": "24h"}
NAME = "0123456789abcdef0123"
BACK = Rollback(of=NAME, to=None, reason="the loss rises")


def found(made: Release, stack: str = STACK, **asked: Any) -> list[tuple[str, str, bool]]:
    judged = lacks(stack, made, environment(name="prod", promotion=asked))
    return [(lack.gate, lack.text, lack.refused) for lack in judged]


def promoted(**changes: Any) -> Release:
    return release(PROMOTED.model_copy(update={"gates": {"from": "passed", "soak": "waived"}, **changes}))


def test_a_release_that_was_promoted_here_under_these_gates_lacks_nothing() -> None:
    assert found(promoted(), **ASKED) == []


def test_a_release_of_another_stack_is_refused_where_the_environment_has_gates() -> None:
    made = promoted(target="sdxl-lora.staging")
    text = f"{STACK} follows release {made.name}, which was promoted to sdxl-lora.staging."
    assert found(made, **ASKED) == [("", text, True)]
    assert found(made, required=True) == [("", text, True)]
    assert found(made, **ASKED, required=False) == [("", text, False)]
    assert found(made) == []


@pytest.mark.parametrize("written", ["x" * 100_000, f"password={FORGED}", f"https://user:{FORGED}@example.com/"])
@pytest.mark.parametrize("field", ["target", "environment"])
def test_forged_evidence_is_shown_short_and_masked(field: str, written: str) -> None:
    """The stack to which the release was promoted, or the environment from which it is."""
    made = promoted(target=written) if field == "target" else promoted()
    if field == "environment":
        made = made.model_copy(update={"origin": ORIGIN.model_copy(update={"environment": written})})
    (lack,) = lacks(STACK, made, environment(name="prod", promotion=ASKED))
    assert len(lack.text) < 400
    assert FORGED not in f"{lack} {lack.problem}"


@pytest.mark.parametrize("gates", [{"from": "passed"}, {"from": "passed", "soak": "refused"}])
def test_a_gate_that_was_added_later_is_not_refused(gates: dict[str, str]) -> None:
    made = promoted(gates=gates)
    text = f"Release {made.name} has neither passed nor waived the gate soak of prod."
    assert found(made, **ASKED) == [("soak", text, False)]


def test_a_source_that_was_removed_later_is_not_refused() -> None:
    made = promoted()
    text = f"Release {made.name} is from {made.origin.environment}, and prod takes releases from staging only."
    assert found(made, **{**ASKED, "from": ["staging"]}) == [("from", text, False)]
    waived = promoted(gates={"from": "waived", "soak": "passed"})
    assert found(waived, **{**ASKED, "from": ["staging"]}) == []


def test_a_rollback_has_no_gates_and_belongs_to_its_stack() -> None:
    made = release(PROMOTED.model_copy(update={"gates": {}})).model_copy(update={"rollback": BACK})
    assert found(made, **ASKED) == []
    assert [refused for _, _, refused in found(made, "sdxl-lora.staging", **ASKED)] == [True]


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
def test_evidence_in_an_unknown_form_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """The name is the hash of the file's content, and its experiment is valid: the check of the file passes."""
    data = {key: value for key, value in (promoted().data() | change).items() if value is not None}
    name = digest(data)
    project(tmp_path, promoted())
    (tmp_path / release_path("sdxl-lora", name)).write_text(yaml.safe_dump(data, sort_keys=False))
    assert not check_experiment(ReleasedExperiment("sdxl-lora", name), "prod", root=tmp_path).problems
    (lack,) = of_stack(name, tmp_path, **ASKED)
    text = f"{STACK} follows release {name}, whose evidence this version of trainform cannot read."
    assert (lack.text, lack.refused) == (text, True)
    assert of_stack(name, tmp_path) == (), "prod has no gates"


def of_stack(name: str | None, root: Path, **asked: Any) -> tuple[Lack, ...]:
    return lacks_of(f"vision/{STACK}", "sdxl-lora", name, environment(name="prod", promotion=asked), root)


def test_the_release_of_a_stack_is_read_from_its_file(tmp_path: Path) -> None:
    name = project(tmp_path, promoted(target="sdxl-lora.staging"))
    assert [lack.kind for lack in of_stack(name, tmp_path, **ASKED)] == ["elsewhere"]
    assert of_stack(NAME, tmp_path, **ASKED) == (), "the check of the file reports that it is missing"
    (missing,) = of_stack(None, tmp_path, **ASKED)
    assert missing.text == f"{STACK} follows no release, and prod takes releases only (gates: from, soak)."
    for asked in ({}, {**ASKED, "required": False}):
        assert of_stack(None, tmp_path, **asked) == ()


def gated(root: Path, **asked: Any) -> None:
    path = root / "stacks" / "environments" / "prod.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "promotion": asked}))


def test_a_second_file_of_the_environment_is_refused(tmp_path: Path) -> None:
    """It may have the same name, which the namespace has as its label, and no gates."""
    project(tmp_path)
    copy = tmp_path / "prod.yaml"
    copy.write_text((tmp_path / "stacks/environments/prod.yaml").read_text())
    gated(tmp_path, **ASKED)
    for path in ("prod.yaml", str(copy)):
        (problem,) = check_gates(check_experiment("sdxl-lora", path, root=tmp_path), STACK, tmp_path).problems
        assert (problem.source, problem.path) == (path, "name")
        assert problem.reason == "stacks/environments/prod.yaml has this name too"
    gated(tmp_path)
    for path in ("./stacks/environments/prod.yaml", "prod"):
        assert not check_gates(check_experiment("sdxl-lora", path, root=tmp_path), STACK, tmp_path).problems


def test_a_job_of_a_program_is_refused_where_releases_are_required() -> None:
    problems: list[Problem] = []
    for asked in (ASKED, {**ASKED, "required": False}, {}):
        checked = check_experiment(experiment(), environment(name="prod", promotion=asked))
        problems += check_gates(checked).problems
    (problem,) = problems
    assert (problem.source, problem.path) == ("", "trainform:release")
    assert "The program makes the job sdxl-lora without a release" in problem.reason
    assert problem.fix.startswith("trainform new sdxl-lora -e prod && trainform promote sdxl-lora --from dev --to ")
