"""A program in the engine's place, whose text a test writes. The real one is in `tests/engine`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name."""
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.touch(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program
