"""For tests that read or write files of a project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.repository import ROOT, copy_stacks


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one environment and no experiments."""
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    copy_stacks(tmp_path / "stacks", "environments/dev.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def whole_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as it is committed."""
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    copy_stacks(tmp_path / "stacks")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(project: Path) -> set[str]:
    return {str(path.relative_to(project)) for path in project.rglob("*.yaml")} - {
        "Pulumi.yaml",
        "stacks/environments/dev.yaml",
    }
