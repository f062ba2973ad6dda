"""Where pulumi comes from. The commands here are small scripts: what is tested is the choice, not pulumi."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.toolchain.recording import Recording
from trainform.errors import InputError, ToolchainError
from trainform.progress import SILENT
from trainform.toolchain import ensure_pulumi, environment
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.model import PulumiTools
from trainform.toolchain.system import find_system_pulumi, parse_version


def _install(folder: Path, version: str, host: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    names = ["pulumi", "pulumi-language-python"] if host else ["pulumi"]
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)
    return folder


def _plugin(home: Path, version: str) -> None:
    folder = home / "plugins" / f"resource-kubernetes-v{version}"
    folder.mkdir(parents=True)
    (folder / "pulumi-resource-kubernetes").touch(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing of Pulumi: `bin` is on PATH, `home` is PULUMI_HOME."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    return tmp_path


def test_what_is_there_and_recent_is_used(machine: Path) -> None:
    _install(machine / "bin", "v3.240.1")
    _plugin(machine / "home", "4.25.0")
    assert ensure_pulumi(SILENT) == PulumiTools(machine / "bin", machine / "home", "system")


@pytest.mark.parametrize(
    ("version", "host", "plugin", "reason"),
    [
        ("v3.231.0", True, "4.25.0", "3.231, 3.232 or later is needed"),
        ("garbage", True, "4.25.0", "of unknown version"),
        ("v3.259.0", False, "4.25.0", "has no pulumi-language-python beside it"),
        ("v3.259.0", True, "4.24.9", "no kubernetes plugin 4.25 or later"),
        ("v3.259.0", True, None, "no kubernetes plugin 4.25 or later"),
        (None, True, "4.25.0", "no pulumi on PATH"),
    ],
)
def test_what_is_missing_or_too_old_is_said(
    machine: Path, version: str | None, host: bool, plugin: str | None, reason: str
) -> None:
    if version is not None:
        _install(machine / "bin", version, host)
    if plugin is not None:
        _plugin(machine / "home", plugin)
    with pytest.raises(ToolchainError) as caught:
        find_system_pulumi()
    assert reason in caught.value.message


def test_the_newest_plugin_counts_by_number_not_by_letter(machine: Path) -> None:
    _install(machine / "bin", "v3.259.0")
    _plugin(machine / "home", "4.9.0")
    _plugin(machine / "home", "4.100.0")
    assert find_system_pulumi().origin == "system"


def test_our_own_pulumi_on_path_is_not_the_systems(machine: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _install(cache / "toolchain-old" / "pulumi-build" / "bin", "v3.259.0")
    monkeypatch.setenv("PATH", f"{ours}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ToolchainError, match="no pulumi on PATH"):
        find_system_pulumi()


def test_a_finished_build_is_used_without_any_process(machine: Path) -> None:
    final = toolchain_folder() / "pulumi-build"
    (final / "bin").mkdir(parents=True)
    progress = Recording()
    begin = time.monotonic()
    assert ensure_pulumi(progress) == PulumiTools(final / "bin", final / "home", "build")
    assert time.monotonic() - begin < 1
    assert progress.lines == []


def test_system_only_does_not_go_on(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "system")
    with pytest.raises(ToolchainError) as caught:
        ensure_pulumi(SILENT)
    assert "no pulumi on PATH" in str(caught.value)
    assert "TRAINFORM_TOOLCHAIN=auto" in caught.value.fix


def test_a_wrong_mode_is_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "fast")
    with pytest.raises(InputError) as caught:
        ensure_pulumi(SILENT)
    assert caught.value.exit_code == 2
    assert "TRAINFORM_TOOLCHAIN = fast" in str(caught.value)
    assert "auto, system, download, build" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "version"),
    [("v3.259.0\n", (3, 259)), ("3.260.0-alpha.x", (3, 260)), ("", None), ("pulumi", None)],
)
def test_versions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_version(text) == version


def test_the_environment_puts_these_tools_first_and_only_once(machine: Path) -> None:
    tools = PulumiTools(_install(machine / "cached", "v3.259.0"), machine / "home", "build")
    variables = environment(tools)
    assert variables["PATH"] == f"{tools.bin}{os.pathsep}{os.environ['PATH']}"
    assert variables["PULUMI_HOME"] == str(tools.home)
    os.environ["PATH"] = variables["PATH"]
    assert environment(tools)["PATH"] == variables["PATH"]
