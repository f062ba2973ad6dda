"""Commands of the engine: a program in its place says what it was given. And the history of a stack's updates, from what `pulumi stack history --json` prints."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from trainform.deployed.engine import Update, exported, last_deployed, printed, updates, updates_in
from trainform.errors import ToolchainError, TrainformError

UP = {
    "version": 0,
    "kind": "update",
    "startTime": "2026-03-02T08:00:00.000Z",
    "message": "Longer warm-up",
    "environment": {
        "exec.kind": "cli",
        "git.author": "Ada Lovelace",
        "git.dirty": "false",
        "git.head": "9f2c4e1d0b7a",
        "stack.environments": "[]",
    },
    "config": {
        "trainform:experiment": {"value": "resnet", "secret": False},
        "trainform:release": {"value": "0a1b2c3d4e5f", "secret": False},
        "trainform:ssh-seed": {"secret": True},
    },
    "result": "succeeded",
    "endTime": "2026-03-02T08:00:09.000Z",
    "resourceChanges": {"create": 9},
}
READ = Update("update", "succeeded", "2026-03-02T08:00:00Z", "2026-03-02T08:00:09Z", 0, "9f2c4e1d0b7a", False, "0a1b2c3d4e5f")  # fmt: skip


def test_an_update_is_read_with_its_commit_and_release() -> None:
    assert updates_in([UP]) == [READ]


def test_what_a_history_does_not_say_is_not_known() -> None:
    bare = {"kind": "update", "startTime": "2026-03-02T08:00:00.000Z", "config": {}, "result": "in-progress"}
    assert updates_in([bare]) == [Update("update", "in-progress", "2026-03-02T08:00:00Z", "", 0, "", None, "")]


@pytest.mark.parametrize("odd", [None, {}, "none", [3], [None]])
def test_what_is_no_history_has_no_updates(odd: Any) -> None:
    assert updates_in(odd) == []


def update(kind: str, result: str = "succeeded") -> dict[str, Any]:
    return {**UP, "kind": kind, "result": result}


@pytest.mark.parametrize(
    ("listed", "index"),
    [
        ([], None),
        ([update("update")], 0),
        ([update("update", "failed"), update("refresh"), update("update")], 2),
        ([update("destroy"), update("update")], None),
        ([update("destroy", "failed"), update("update")], 1),
    ],
)
def test_the_last_up_that_succeeded_and_was_not_destroyed(listed: list[Any], index: int | None) -> None:
    found = updates_in(listed)
    assert last_deployed(found) == (None if index is None else found[index])


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, whose text a test writes. The real one is in `tests/engine`."""
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.touch(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_a_stack_that_was_never_updated_has_no_history(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text("#!/bin/sh\n")
    assert updates("resnet.prod", tmp_path) == []


def test_a_stack_that_the_backend_does_not_have_has_no_history(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text("#!/bin/sh\necho \"error: no stack named 'resnet.prod' found\" >&2\nexit 6\n")
    assert updates("resnet.prod", tmp_path) == []


def test_a_command_and_its_standard_input(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text('#!/bin/sh\necho "$@"; cat; pwd\n')
    assert printed(tmp_path, "config", "set", text="word\n").splitlines() == [
        "config set --non-interactive --color never",
        "word",
        str(tmp_path),
    ]


def test_an_error_of_the_engine_is_told_without_credentials(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text("#!/bin/sh\necho 'error: s3://user:hunter2-hunter2@bucket is not there' >&2\nexit 255\n")
    with pytest.raises(TrainformError) as raised:
        exported("resnet.prod", tmp_path)
    assert raised.value.lines() == [
        "`pulumi stack export` ended with exit code 255",
        "  | error: s3://[secret]@bucket is not there",
        "  fix: `pulumi stack ls` lists the stacks of the backend that you are logged in to",
    ]


def test_an_error_of_the_engine_is_told_without_the_secrets_of_variables_and_tokens(
    pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery")
    token = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz01234567"
    pulumi.write_text(f'#!/bin/sh\necho "passphrase $PULUMI_CONFIG_PASSPHRASE is wrong; {token}" >&2\nexit 255\n')
    with pytest.raises(TrainformError) as raised:
        exported("resnet.prod", tmp_path)
    told = "\n".join(raised.value.lines())
    assert "correct horse battery" not in told
    assert token not in told
    assert "passphrase" in told


def test_variables_that_show_secrets_do_not_reach_the_engine(
    pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_OPTION_SHOW_SECRETS", "true")
    pulumi.write_text('#!/bin/sh\nprintf \'{"set": "%s"}\' "$PULUMI_OPTION_SHOW_SECRETS"\n')
    assert exported("resnet.prod", tmp_path) == {"set": ""}


def test_what_is_no_json_is_told(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text("#!/bin/sh\necho warning\n")
    with pytest.raises(TrainformError, match="what `pulumi stack history` prints is not JSON"):
        updates("resnet.prod", tmp_path)


def test_the_state_after_an_earlier_update_is_asked_for_by_its_number(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text('#!/bin/sh\nprintf \'{"words": "%s"}\' "$*"\n')
    words = str(exported("resnet.prod", tmp_path, 7)["words"])
    assert words.startswith("stack export -s resnet.prod --show-secrets=false --version 7 ")


def test_without_the_engine_it_is_told_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="pulumi is not on PATH"):
        updates("resnet.prod", tmp_path)
