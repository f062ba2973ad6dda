"""Who promotes, as git has it, or else the account."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.leaks import HUB_TOKEN
from trainform.deployed.releases.release_files import author
from trainform.errors import MASK


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and no setting of git's but its own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    monkeypatch.setenv("LOGNAME", "abyron")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"user.name": "Ada Byron", "user.email": "ada@example.com"}, "Ada Byron <ada@example.com>"),
        ({"user.name": "Ada\nByron"}, "Ada Byron"),
        ({"user.email": "ada@example.com"}, "ada@example.com"),
        ({"user.name": "Ada \x1b\u202e\u200b Byron"}, "Ada Byron"),
        ({"user.name": "\u202e"}, "abyron"),
        ({"user.name": HUB_TOKEN}, MASK),
        ({}, "abyron"),
    ],
)
def test_the_name(settings: dict[str, str], expected: str, folder: Path) -> None:
    for key, value in settings.items():
        subprocess.run(["git", "config", key, value], cwd=folder, check=True)
    assert author(folder) == expected


def test_without_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert author(folder) == "abyron"
