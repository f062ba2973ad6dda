"""Commands of Pulumi's: a program in its place says what it was given. And where the states of stacks are kept, as an address says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.errors import ToolchainError, TrainformError
from trainform.saved.engine import exported, place_of_backend, printed, run_up


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://app.pulumi.com/anna", "https://app.pulumi.com/ben"),
        ("file:///srv/states?metadata=skip", "file:///srv/states/"),
        ("s3://states/ai?region=eu-west-1", "s3://states/ai?region=eu-west-1&awssdk=v2"),
        ("s3://key:word@states/ai", "s3://states/ai"),
    ],
)
def test_one_place_by_several_addresses(one: str, other: str) -> None:
    assert place_of_backend(one) == place_of_backend(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://app.pulumi.com/anna", "https://pulumi.example.com/anna"),
        ("file:///srv/states", "file:///home/anna/states"),
        ("s3://states/ai", "s3://states/vision"),
        ("s3://states?endpoint=minio:9000", "s3://states"),
        ("s3://states", "gs://states"),
    ],
)
def test_other_places(one: str, other: str) -> None:
    assert place_of_backend(one) != place_of_backend(other)


def test_no_credentials_are_told() -> None:
    shown = place_of_backend("https://anna:t0ken@pulumi.example.com/anna?token=t0ken")
    assert shown == "https://pulumi.example.com"
    assert "t0ken" not in place_of_backend("s3://states?endpoint=http://anna:t0ken@minio:9000")


# --- what a command prints


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called pulumi, the only one on PATH but those that it needs."""
    path = tmp_path / "bin" / "pulumi"
    path.parent.mkdir()
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
    return path


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def test_a_command_and_its_standard_input(program: Path, tmp_path: Path) -> None:
    write(program, 'echo "$@"; cat; pwd')
    assert printed(tmp_path, "config", "set", text="word\n").splitlines() == [
        "config set --non-interactive --color never",
        "word",
        str(tmp_path),
    ]


def test_no_secret_is_asked_for(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a variable of the shell asks for them."""
    monkeypatch.setenv("PULUMI_OPTION_SHOW_SECRETS", "true")
    write(program, 'echo "{\\"words\\": \\"$*\\", \\"shown\\": \\"$PULUMI_OPTION_SHOW_SECRETS\\"}"')
    found = exported("bert.dev", tmp_path)
    assert found["words"].startswith("stack export -s bert.dev --show-secrets=false")
    assert found["shown"] == ""


def test_what_a_command_says_when_it_fails(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery")
    write(program, 'echo "error: no stack; $PULUMI_CONFIG_PASSPHRASE" >&2; exit 6')
    with pytest.raises(TrainformError) as caught:
        printed(tmp_path, "stack", "export", "-s", "bert.dev")
    assert caught.value.message == "`pulumi stack export` ended with exit code 6"
    assert caught.value.details == ("error: no stack; [secret]",)


def test_no_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="pulumi is not on PATH"):
        printed(tmp_path, "version")


@pytest.mark.parametrize(("beside_data", "stream"), [(False, "out"), (True, "err")])
def test_the_output_of_up_is_shown(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], beside_data: bool, stream: str
) -> None:
    write(program, 'echo "$@"; exit 7')
    assert run_up("bert.dev", tmp_path, beside_data=beside_data) == 7
    shown = getattr(capfd.readouterr(), stream)
    assert shown == "up --yes --skip-preview --non-interactive -s bert.dev\n"
