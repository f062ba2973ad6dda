"""Which Go compiler is used, and with which environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.local.toolchain.recording import Recording
from trainform.local.toolchain.golang import find_go


def _fake_go(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    path = folder / "go"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def test_a_go_that_is_new_enough_is_used(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = _fake_go(tmp_path / "bin", "go1.27.1")
    monkeypatch.setenv("PATH", f"{compiler.parent}{os.pathsep}{os.environ['PATH']}")
    assert find_go(cache, Recording()) == compiler


@pytest.mark.parametrize("version", ["go1.25.9", "go1.4", "nonsense"])
def test_the_wheel_is_used_instead_of_an_old_go(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    # As the wheel lays itself out; installed before, so that nothing is fetched.
    wheel = _fake_go(cache / "go" / "go" / "bin", "go1.26.6")
    monkeypatch.setenv("PATH", f"{_fake_go(tmp_path / 'bin', version).parent}{os.pathsep}{os.environ['PATH']}")
    progress = Recording()
    assert find_go(cache, progress) == wheel
    assert "1.26 is required" in progress.text
