"""Which Pulumi is used. The commands are small scripts, since the choice is tested, not Pulumi."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
from pathlib import Path

import pytest

from tests.local.toolchain.recording import Recording
from trainform.console.progress import SILENT
from trainform.errors import InputError, ToolchainError
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.ensure import ensure_pulumi, environment
from trainform.local.toolchain.system import find_system_pulumi
from trainform.local.toolchain.tools import PulumiTools

# Resources ask the engine for the plugin of exactly this version.
SDK = importlib.metadata.version("pulumi-kubernetes")


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
    """Make a machine without Pulumi: `bin` is on PATH, `home` is PULUMI_HOME."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_recent_pulumi_of_the_system_is_used(machine: Path) -> None:
    _install(machine / "bin", "v3.240.1")
    _plugin(machine / "home", SDK)
    assert ensure_pulumi(SILENT) == PulumiTools(machine / "bin", machine / "home", "system")


@pytest.mark.parametrize(
    ("version", "host", "plugin", "reason"),
    [
        ("v3.231.0", True, SDK, "3.231; 3.232 or later is required"),
        ("garbage", True, SDK, "is unknown; 3.232 or later is required"),
        ("v3.259.0", False, SDK, "has no pulumi-language-python next to it"),
        ("v3.259.0", True, "4.24.9", f"the kubernetes plugin v{SDK}, the version of the Python package, is not in"),
        ("v3.259.0", True, None, "found: none"),
        (None, True, SDK, "no pulumi on PATH"),
    ],
)
def test_a_missing_or_old_pulumi_is_an_error_with_the_reason(
    machine: Path, version: str | None, host: bool, plugin: str | None, reason: str
) -> None:
    if version is not None:
        _install(machine / "bin", version, host)
    if plugin is not None:
        _plugin(machine / "home", plugin)
    with pytest.raises(ToolchainError) as caught:
        find_system_pulumi()
    assert reason in caught.value.message


def test_the_plugin_of_the_python_packages_version_is_used_beside_others(machine: Path) -> None:
    _install(machine / "bin", "v3.259.0")
    for version in ("4.9.0", "4.100.0"):
        _plugin(machine / "home", version)
    with pytest.raises(ToolchainError, match=r"found: v4\.100\.0, v4\.9\.0") as caught:
        find_system_pulumi()
    assert f"pulumi plugin install resource kubernetes v{SDK}" in caught.value.fix
    _plugin(machine / "home", SDK)
    assert find_system_pulumi().origin == "system"


def test_a_wrong_plugin_version_is_an_error_before_anything_is_built(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(machine / "bin", "v3.259.0")
    _plugin(machine / "home", "4.100.0")
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "system")
    progress = Recording()
    with pytest.raises(ToolchainError, match=f"the kubernetes plugin v{SDK}, ") as caught:
        ensure_pulumi(progress)
    assert "TRAINFORM_TOOLCHAIN=auto" in caught.value.fix
    assert progress.lines[0].startswith(f"pulumi, system: the kubernetes plugin v{SDK}, ")


def test_a_built_pulumi_on_path_is_not_that_of_the_system(
    machine: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = _install(cache / "toolchain-old" / "pulumi-build" / "bin", "v3.259.0")
    monkeypatch.setenv("PATH", f"{ours}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ToolchainError, match="no pulumi on PATH"):
        find_system_pulumi()


def test_a_finished_build_is_used_without_any_process(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final = toolchain_folder() / "pulumi-build"
    (final / "bin").mkdir(parents=True)
    progress = Recording()
    monkeypatch.setattr(subprocess, "Popen", None)
    assert ensure_pulumi(progress) == PulumiTools(final / "bin", final / "home", "build")
    assert progress.lines == []


def test_an_unknown_mode_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "fast")
    with pytest.raises(InputError) as caught:
        ensure_pulumi(SILENT)
    assert caught.value.exit_code == 2
    assert "TRAINFORM_TOOLCHAIN = fast" in str(caught.value)
    assert "auto, system, download, build" in str(caught.value)


def test_environment_puts_the_tools_on_path_first_and_once(machine: Path) -> None:
    tools = PulumiTools(_install(machine / "cached", "v3.259.0"), machine / "home", "build")
    variables = environment(tools)
    assert variables["PATH"] == f"{tools.bin}{os.pathsep}{os.environ['PATH']}"
    assert variables["PULUMI_HOME"] == str(tools.home)
    os.environ["PATH"] = variables["PATH"]
    assert environment(tools)["PATH"] == variables["PATH"]
