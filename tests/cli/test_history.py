"""`trainform history` where Pulumi cannot be read. With it this runs in `tests/engine/test_history.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.support.releases import FORGED, forged, project, release, write_release
from trainform.errors import MASK


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return project(tmp_path, release())


def test_what_the_files_know_is_shown_and_what_could_not_be_read_is_told(name: str) -> None:
    code, out, err = run("history", "sdxl-lora")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:2] == ["History of sdxl-lora", "  2 stacks, 1 release."]
    text = " ".join(out.split())
    assert f"2026-11-23T14:35:24Z sdxl-lora.prod: promoted by Ada Byron <ada@example.com>, release {name}." in text
    assert "from sdxl-lora.dev, revision 1f3a9c" in text
    assert "sdxl-lora.dev: pulumi is not on PATH" in text


def test_json_has_the_evidence_without_the_experiment(name: str) -> None:
    code, out, _ = run("history", "sdxl-lora", "--output", "json")
    found = json.loads(out)
    assert (code, found["ok"], len(found["not_read"])) == (1, False, 2)
    assert {row["stack"]: (row["release"], row["state"]) for row in found["stacks"]} == {
        "sdxl-lora.dev": (None, "unknown"),
        "sdxl-lora.prod": (name, "unknown"),
    }
    (evidence,) = found["releases"].values()
    assert evidence["origin"]["commit"] == "1999ff7a0d3cbb9d2f6a0a8c4bd0ee1f4b7f5a11"
    assert "experiment" not in evidence
    assert [event["what"] for event in found["events"]] == ["promotion"]


def test_one_stack_by_its_name_or_by_its_environment(name: str) -> None:
    code, out, _ = run("history", "sdxl-lora.prod")
    assert (code, out.splitlines()[:2]) == (1, ["History of sdxl-lora.prod", "  1 stack, 1 release."])
    assert run("history", "sdxl-lora", "-e", "prod") == (code, out, "")
    assert run("history", "sdxl-lora", "-e", "dev")[1].splitlines()[1] == "  1 stack, 0 releases."
    assert "name an experiment" in run("history", "-e", "dev")[2]
    assert "did you mean sdxl-lora.prod?" in run("history", "sdxl-lora.prd")[2]


def test_without_a_name_all_experiments_are_shown(name: str, tmp_path: Path) -> None:
    (tmp_path / "stacks" / "releases" / "bert").mkdir()
    (tmp_path / "stacks" / "releases" / "bert" / f"{'0' * 20}.yaml").write_text("release: 1\n")
    code, out, _ = run("history", "--output", "json")
    found = json.loads(out)
    assert (code, found["experiment"]) == (1, None)
    assert {row["stack"]: row["experiment"] for row in found["stacks"]} == dict.fromkeys(
        ("sdxl-lora.dev", "sdxl-lora.prod"), "sdxl-lora"
    )
    assert [(event["experiment"], event["what"]) for event in found["events"]] == [("sdxl-lora", "promotion")]
    assert found["not_read"][0].startswith("the releases of bert: the file has been changed")
    assert run("history")[1].startswith("History of all experiments\n  2 stacks, 1 release.")


@pytest.mark.parametrize(
    ("word", "fix"), [("sdxl-lore", "did you mean sdxl-lora?"), ("x", "run `trainform new EXPERIMENT -e ENV`")]
)
def test_an_experiment_that_is_nowhere(name: str, word: str, fix: str) -> None:
    code, _, err = run("history", word)
    assert code == 2
    assert "the experiment has no stack and no release here" in err
    assert fix in err


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_what_somebody_has_forged_is_masked_and_moves_no_line(name: str, form: str, tmp_path: Path) -> None:
    """In every text of the evidence."""
    for is_rollback in (False, True):
        write_release(forged(is_rollback=is_rollback), tmp_path)
    out = run("history", "sdxl-lora", "--output", form)[1]
    assert "3 releases" in out or form == "json"
    assert out.count(MASK) > 5
    assert FORGED[:4] not in out
    assert [sign for sign in "\x1b\u202e" if sign in out] == []
    assert [line for line in out.splitlines() if line.startswith("stacks")] == []


def test_a_stack_whose_file_cannot_be_read_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "stacks" / "Pulumi.sdxl-lora.prod.yaml").write_bytes(b"config: {a: caf\xe9}\n")
    code, out, _ = run("history", "sdxl-lora", "--output", "json")
    assert code == 1
    reason = "the file of sdxl-lora.prod: the file is not UTF-8 (byte 0xe9 at offset 15)"
    assert json.loads(out)["not_read"][0] == reason
