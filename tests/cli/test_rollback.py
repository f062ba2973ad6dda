"""`trainform rollback` from releases, on a machine without Pulumi. With its history it runs in
`tests/engine/test_history.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.support.leaks import OTHER_HUB_TOKEN as TOKEN
from tests.support.releases import FORGED, PROMOTED, forged, project, release, set_release, write_release
from trainform.deployed.releases.release_files import read_release, releases_of
from trainform.errors import MASK
from trainform.spec.stack import load_stack

STACK = "sdxl-lora.prod"
WHY = ("--reason", "the loss diverges")


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A project whose stack has followed three releases: 2, 3 and 4 workers."""
    project(tmp_path)
    found: list[str] = []
    for replicas in (2, 3, 4):
        at = f"2026-11-2{replicas}T14:35:24Z"
        promoted = PROMOTED.model_copy(update={"replaces": found[-1] if found else None, "at": at, "target": STACK})
        workers = release().experiment["roles"]["worker"]
        found.append(write_release(release(promoted, roles={"worker": {**workers, "replicas": replicas}}), tmp_path))
        set_release(STACK, found[-1], tmp_path)
    for key, value in (
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "user.name"),
        ("GIT_CONFIG_VALUE_0", "Bob"),
        ("GIT_CONFIG_KEY_1", "user.email"),
        ("GIT_CONFIG_VALUE_1", "bob@example.com"),
    ):
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return found


def follows(root: Path) -> str:
    name = load_stack(STACK, root).release
    assert name is not None
    return name


def test_a_stack_that_was_renamed_goes_back_to_a_release_of_its_earlier_name(names: list[str], tmp_path: Path) -> None:
    stacks = tmp_path / "stacks"
    (stacks / f"Pulumi.{STACK}.yaml").rename(stacks / "Pulumi.sdxl-lora.main.yaml")
    code, out, err = run("rollback", "sdxl-lora.main", "--to", names[0], *WHY, "--dry-run")
    assert code == 0, err
    assert f"sdxl-lora.main goes back to release {names[0]}" in out


def test_a_stack_goes_back_to_the_release_before(names: list[str], tmp_path: Path) -> None:
    text = (tmp_path / "stacks" / f"Pulumi.{STACK}.yaml").read_text()
    code, out, err = run("rollback", STACK, *WHY, "--yes")
    assert code == 0, err
    name = follows(tmp_path)
    made = read_release("sdxl-lora", name, tmp_path)
    assert made.content == read_release("sdxl-lora", names[1], tmp_path).content
    assert made.rollback is not None
    assert made.rollback.model_dump() == {"of": names[2], "to": names[1], "reason": "the loss diverges"}
    assert made.promoted.by == "Bob <bob@example.com>"
    assert (tmp_path / "stacks" / f"Pulumi.{STACK}.yaml").read_text() == text.replace(names[2], name)
    lines = out.splitlines()
    assert lines[0] == "Rollback of sdxl-lora.prod"
    assert f"sdxl-lora.prod goes back to release {names[1]}, by a new release." in " ".join(out.split())
    assert lines[2] == "  1 field of sdxl-lora.prod changes."
    assert any(line.split() == ["roles.worker.replicas", "4", "3"] for line in lines)
    assert lines[-2:] == [
        "  trainform review sdxl-lora.prod --save sdxl-lora.prod.json",
        "  trainform apply sdxl-lora.prod.json",
    ]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("target", [STACK, f"password={FORGED}"])
def test_what_somebody_has_forged_is_masked(names: list[str], form: str, target: str, tmp_path: Path) -> None:
    """In the release to which the stack goes back, and in one that it never followed."""
    made = write_release(forged(target=target), tmp_path)
    code, out, err = run("rollback", STACK, "--to", made, *WHY, "--dry-run", "--output", form)
    assert code == (0 if target == STACK else 2), err
    assert MASK in out + err
    assert FORGED[:4] not in out + err


def test_a_second_rollback_goes_further_back(names: list[str], tmp_path: Path) -> None:
    assert run("rollback", STACK, *WHY, "--yes")[0] == 0
    assert run("rollback", STACK, *WHY, "--yes")[0] == 0
    made = read_release("sdxl-lora", follows(tmp_path), tmp_path)
    assert made.rollback is not None
    assert made.rollback.to == names[0]
    code, out, err = run("rollback", STACK, *WHY, "--yes")
    assert (code, out) == (1, "")
    assert "pulumi is not on PATH" in err


def test_a_dry_run_writes_nothing(names: list[str], tmp_path: Path) -> None:
    code, out, _ = run("rollback", STACK, *WHY, "--dry-run", "--output", "json")
    assert (code, follows(tmp_path)) == (0, names[2])
    found = json.loads(out)
    assert (found["result"], found["rollback"]["to"]) == ("not written", names[1])
    assert found["changes"] == [{"path": "roles.worker.replicas", "values": [4, 3]}]
    assert (found["release"], found["path"]) == (None, None), "the time of writing is in the name"
    assert [*releases_of("sdxl-lora", tmp_path)] == names


def test_what_the_environment_no_longer_allows_is_refused(names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "stacks" / "environments" / "prod.yaml"
    data: dict[str, Any] = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**data, "limits": {"registries": ["mirror.prod.example.com"]}}))
    code, _, err = run("rollback", STACK, *WHY, "--yes")
    assert (code, follows(tmp_path)) == (2, names[2])
    assert "TF-IMG-1" in err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([*WHY], "confirmation is required"),
        (["--reason", " … ", "--yes"], "no reason is given"),
        (["--reason", f"see {TOKEN}", "--yes"], "the reason holds what looks like a secret"),
        (["--yes"], "Missing option '--reason'"),
        ([*WHY, "--yes", "--to", "{newest}"], "the stack sdxl-lora.prod follows this content already"),
    ],
)
def test_wrong_words_write_nothing(names: list[str], tmp_path: Path, words: list[str], line: str) -> None:
    code, out, err = run("rollback", STACK, *(word.replace("{newest}", names[2]) for word in words))
    assert (code, out) == (2, "")
    assert line in err
    assert follows(tmp_path) == names[2]


def test_a_release_of_another_stack_is_a_promotion(names: list[str], tmp_path: Path) -> None:
    other = write_release(
        release(PROMOTED.model_copy(update={"target": "sdxl-lora.stage"}), queue="research"), tmp_path
    )
    code, _, err = run("rollback", STACK, *WHY, "--to", other, "--yes")
    assert code == 2
    assert "the stack sdxl-lora.prod never followed this release" in err
    assert "trainform promote sdxl-lora --from sdxl-lora.stage --to sdxl-lora.prod" in err
