"""Who promotes, as git has it, or else the account."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainform.deployed.releases.author import author


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and no setting of git's but its own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    monkeypatch.setenv("LOGNAME", "abyron")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def setting(folder: Path, key: str, value: str) -> None:
    subprocess.run(["git", "config", key, value], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"user.name": "Ada Byron", "user.email": "ada@example.com"}, "Ada Byron <ada@example.com>"),
        ({"user.name": "Ada\nByron"}, "Ada Byron"),
        ({"user.email": "ada@example.com"}, "ada@example.com"),
        ({"user.name": "Ada \x1b\u202e\u200b Byron"}, "Ada Byron"),
        ({"user.name": "\u202e"}, "abyron"),
        ({}, "abyron"),
    ],
)
def test_the_name(settings: dict[str, str], expected: str, folder: Path) -> None:
    for key, value in settings.items():
        setting(folder, key, value)
    assert author(folder) == expected


def test_a_token_is_no_name(folder: Path) -> None:
    token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - of nobody
    setting(folder, "user.name", token)
    assert token not in author(folder)


def test_without_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert author(folder) == "abyron"
