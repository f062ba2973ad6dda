"""Which Go is used."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.toolchain.recording import Recording
from trainform.toolchain.golang import find_go, go_environment


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
def test_an_old_go_gives_way_to_the_wheel(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    # As the wheel lays itself out; installed before, so that nothing is fetched.
    wheel = _fake_go(cache / "go" / "go" / "bin", "go1.26.6")
    monkeypatch.setenv("PATH", f"{_fake_go(tmp_path / 'bin', version).parent}{os.pathsep}{os.environ['PATH']}")
    progress = Recording()
    assert find_go(cache, progress) == wheel
    assert "1.26 is needed" in progress.text


def test_flags_of_the_user_stay_and_the_pins_have_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-p=1 -mod=mod")
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOOS", "plan9")
    compiler = shutil.which("go")
    if compiler is None:
        pytest.fail("the tests of the tool chain need Go on PATH")
    environment = go_environment(Path(compiler))
    assert environment["GOFLAGS"] == "-p=1 -mod=mod -mod=readonly -trimpath -buildvcs=false"
    assert environment["GOPROXY"] == "off"
    assert environment["GOTOOLCHAIN"] == "local"
    assert "GOOS" not in environment
