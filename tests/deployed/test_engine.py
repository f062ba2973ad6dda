"""Commands of the engine: a program in its place says what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.leaks import HUB_TOKEN as TOKEN
from trainform.deployed.engine import FIX, exported
from trainform.errors import ToolchainError, TrainformError


@pytest.mark.parametrize(
    ("printed", "shown", "fix"),
    [
        ("s3://user:hunter2-hunter2@bucket is not there", "s3://[secret]@bucket is not there", FIX),
        ("passphrase $PULUMI_CONFIG_PASSPHRASE is wrong", "passphrase [secret] is wrong", FIX),
        (f"see {TOKEN}", "[secret]", FIX),
        ("incorrect passphrase", "incorrect passphrase", "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_"),
        ("no stack named 'a' found", "no stack named 'a' found", "`pulumi stack select --create STACK` makes"),
    ],
)
def test_an_error_of_the_engine_has_a_fix_and_no_secrets(
    pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, shown: str, fix: str
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery")
    pulumi.write_text(f'#!/bin/sh\necho "{printed}" >&2\nexit 255\n')
    with pytest.raises(TrainformError) as raised:
        exported("resnet.prod", tmp_path)
    *lines, last = raised.value.lines()
    assert lines == ["`pulumi stack export` ended with exit code 255", f"  | {shown}"]
    assert last.startswith(f"  fix: {fix}")


@pytest.mark.parametrize("option", ["SHOW_SECRETS", "CWD", "CONFIG_FILE", "CONFIG"])
def test_variables_that_show_secrets_or_other_files_do_not_reach_the_engine(
    option: str, pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PULUMI_OPTION_{option}", "true")
    pulumi.write_text(f'#!/bin/sh\nprintf \'{{"set": "%s"}}\' "$PULUMI_OPTION_{option}"\n')
    assert exported("resnet.prod", tmp_path) == {"set": ""}


@pytest.mark.parametrize("text", ["[]", '"x"', "null", "7"])
def test_what_is_no_state_is_an_error(text: str, pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text(f"#!/bin/sh\nprintf '%s' '{text}'\n")
    with pytest.raises(TrainformError, match="what `pulumi stack export` prints is not the state of a stack"):
        exported("resnet.prod", tmp_path)


def test_without_the_engine_it_is_told_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="pulumi is not on PATH"):
        exported("resnet.prod", tmp_path)
