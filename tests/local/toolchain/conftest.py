"""A separate cache folder for each test, a Go module that is built in a second, and a simulated internet."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Internet
from trainform.local.toolchain.parts import PINS, Part

TINY = Part(folder="tiny", binaries=("tiny",), minutes=0.1, target=".", ldflags="-X main.greeting=hello")
SOURCE = "package main\n\nvar greeting string\n\nfunc main() { println(greeting) }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set TRAINFORM_CACHE to a new folder, so that tests neither see nor change the user's cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRAINFORM_CACHE", str(folder))
    monkeypatch.delenv("TRAINFORM_TOOLCHAIN", raising=False)
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    return folder


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    """Write the pins of one part, `TINY`, which needs no other module."""
    folder = tmp_path / "pins" / "tiny"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module trainform/tiny\n\ngo 1.26.0\n")
    (folder / "main.go").write_text(SOURCE)
    return folder.parent


@pytest.fixture
def internet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
    """Send all HTTPS requests of this process and its children to a simulated internet."""
    (tmp_path / "authority").mkdir()
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOPROXY", "https://modules.example.org,direct")
    made = Internet(tmp_path / "authority")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    with made.serving():
        yield made


@pytest.fixture
def copy(tmp_path: Path, internet: Internet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write pins that fit the published modules. Everything is published for this machine, which has no Go."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "download")
    pins = shutil.copytree(PINS, tmp_path / "copy")
    official.publish(internet, pins)
    return pins
