"""A cache folder of its own for each test, and a Go module small enough to be built in a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.toolchain.parts import Part

TINY = Part(folder="tiny", binaries=("tiny",), minutes=0.1, target=".", ldflags="-X main.greeting=hello")
SOURCE = "package main\n\nvar greeting string\n\nfunc main() { println(greeting) }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TRAINFORM_CACHE: no test sees the user's tools, or leaves something among them."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRAINFORM_CACHE", str(folder))
    monkeypatch.delenv("TRAINFORM_TOOLCHAIN", raising=False)
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    return folder


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    """Pins of one part, `TINY`, which needs no module but its own."""
    folder = tmp_path / "pins" / "tiny"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module trainform/tiny\n\ngo 1.26.0\n")
    (folder / "main.go").write_text(SOURCE)
    return folder.parent
