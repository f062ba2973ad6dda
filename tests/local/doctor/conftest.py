"""A simulated machine: a PATH, a home folder and a cache with nothing in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trainform.local.doctor.check_runs import Request

Program = Callable[..., Path]


def request(root: Path) -> Request:
    """Return a request in this folder, without an environment."""
    return Request(root, None, 60.0)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the machine."""
    for name in ("bin", "home", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRAINFORM_CACHE", str(tmp_path / "cache"))
    for name in ("PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_ACCESS_TOKEN", "PULUMI_CREDENTIALS_PATH", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "TRAINFORM_TOOLCHAIN", "PULUMI_PYTHON_CMD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def program(machine: Path) -> Program:
    """Return a function that puts a shell script on PATH, from its name and lines."""

    def write(name: str, *lines: str) -> Path:
        path = machine / "bin" / name
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        path.chmod(0o755)
        return path

    return write
