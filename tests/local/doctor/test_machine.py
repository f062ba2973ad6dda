"""Checks of a machine whose programs are written by the test."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import venv
from pathlib import Path

import pytest
import yaml

from tests.local.doctor.conftest import Program, request
from trainform.local.doctor import machine as looks
from trainform.local.doctor.check_runs import Finding, State
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.needs import MODE_VARIABLE
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS, PULUMI_PARTS

PYTHON = {"python": Finding(State.OK, "", details={"path": "python3", "pulumi-kubernetes": "4.25.0"})}
PACKAGES = {"python": "3.12.4", "pip": "26.3", "trainform": "0.1.0", "pulumi": "3.259.0", "pulumi-kubernetes": "4.25.0"}


def project(root: Path, options: object) -> Path:
    """Write a project with these options of its runtime."""
    root.mkdir(exist_ok=True)
    (root / "Pulumi.yaml").write_text(
        yaml.safe_dump({"name": "mine", "runtime": {"name": "python", "options": options}})
    )
    return root


def of_program(program: Program, root: Path, **packages: str | None) -> Finding:
    """Return the finding for a Python on PATH with these packages."""
    program("python3", f"echo '{json.dumps(PACKAGES | packages)}'")
    return looks.look_at_python(request(project(root, {})), {})


def test_outside_a_project_it_is_the_python_of_this_command(machine: Path) -> None:
    found = looks.look_at_python(request(machine), {})
    assert found.state is State.OK
    assert found.text == f"{platform.python_version()}, {sys.executable}"
    assert found.details["pulumi-kubernetes"] == importlib.metadata.version("pulumi-kubernetes")


def test_a_new_virtual_environment_lacks_the_packages(machine: Path) -> None:
    """It has no pip, as `uv venv` makes it."""
    root = project(machine / "mine", {"virtualenv": "env"})
    venv.create(root / "env", with_pip=False, symlinks=True)
    found = looks.look_at_python(request(root), {})
    assert (found.state, found.details["pip"]) == (State.MISSING, None)
    assert found.text.endswith(f"{root}/env/bin/python has no trainform, pulumi, pulumi-kubernetes")


def test_a_project_without_one_runs_the_python_on_path(
    machine: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_program(program, machine / "mine").text == f"3.12.4, {machine}/bin/python3"
    program("python3.13", f"echo '{json.dumps(PACKAGES | {'python': '3.13.1'})}'")
    monkeypatch.setenv("PULUMI_PYTHON_CMD", "python3.13")
    assert of_program(program, machine / "mine").text == f"3.13.1, {machine}/bin/python3.13"


def test_a_python_without_a_package(machine: Path, program: Program) -> None:
    found = of_program(program, machine / "mine", pulumi=None)
    assert (found.state, found.text.endswith("has no pulumi")) == (State.MISSING, True)


def test_no_pip(machine: Path, program: Program) -> None:
    """Projects with uv need none."""
    python = program("python3", f"echo '{json.dumps(PACKAGES | {'pip': None})}'")
    found = looks.look_at_python(request(project(machine / "mine", {})), {})
    assert (found.state, found.fix) == (State.MISSING, f"{python} -m ensurepip")
    root = project(machine / "uv", {"toolchain": "uv", "virtualenv": "env"})
    (root / "env" / "bin").mkdir(parents=True)
    python.rename(root / "env" / "bin" / "python")
    assert looks.look_at_python(request(root), {}).state is State.OK


# --- Pulumi


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        ("v3.259.0", State.OK, "v3.259.0, "),
        ("v3.231.0", State.MISSING, "is 3.231; 3.232 or later is required"),
        ("hello", State.MISSING, "is unknown; 3.232 or later is required"),
    ],
)
def test_pulumi(machine: Path, program: Program, answer: str, state: State, reason: str) -> None:
    program("pulumi", f"echo {answer}")
    found = looks.look_at_pulumi(request(machine), PYTHON)
    assert (found.state, reason in found.text) == (state, True)


def test_no_pulumi(machine: Path) -> None:
    found = looks.look_at_pulumi(request(machine), PYTHON)
    assert found == Finding(State.MISSING, "not on PATH", "trainform toolchain ensure --pulumi-only")
    folder = toolchain_folder() / "pulumi-build"
    (folder / "bin").mkdir(parents=True)
    found = looks.look_at_pulumi(request(machine), PYTHON)
    assert found.fix == f'export PATH="{folder}/bin:$PATH" PULUMI_HOME="{folder}/home"'


def test_the_sdk_has_the_version_of_the_sandboxs_plugin(
    machine: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the engine downloads nothing."""
    home = toolchain_folder() / "pulumi-build" / "home"
    plugin = home / "plugins" / "resource-kubernetes-v4.25.0" / "pulumi-resource-kubernetes"
    plugin.parent.mkdir(parents=True)
    plugin.touch()
    program("pulumi", "echo v3.259.0")
    newer = {"python": Finding(State.OK, "", details={"path": "/my env/bin/python", "pulumi-kubernetes": "4.34.2"})}
    assert looks.look_at_pulumi(request(machine), newer).state is State.OK, "another PULUMI_HOME"
    monkeypatch.setenv("PULUMI_HOME", str(home))
    assert looks.look_at_pulumi(request(machine), PYTHON).state is State.OK
    found = looks.look_at_pulumi(request(machine), newer)
    assert (found.state, found.fix) == (State.MISSING, "'/my env/bin/python' -m pip install pulumi-kubernetes==4.25.0")


def test_the_login_is_asked_of_pulumi(machine: Path, program: Program) -> None:
    program("pulumi", """echo '{"user": "ada", "url": "s3://states?endpoint=x&key=s3cret"}'""")
    assert looks.look_at_login(request(machine), {}) == Finding(State.OK, "s3://states")
    program("pulumi", "echo 'error: unable to open \"s3://states?key=s3cret\": no such bucket' >&2", "exit 255")
    found = looks.look_at_login(request(machine), {})
    assert found == Finding(State.MISSING, 'unable to open "s3://states": no such bucket')


# --- the tool chain


def finished(folder: Path, *parts: str) -> None:
    """Make the folders of finished parts, as a build does."""
    for part in (*CONTROL_PLANE_PARTS, *PULUMI_PARTS):
        if part.folder in parts:
            (folder / part.folder).mkdir(parents=True)


def test_the_tool_chain(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, "build")
    folder = toolchain_folder()
    found = looks.look_at_tool_chain(request(machine), {})
    assert found == Finding(
        State.MISSING,
        "not built: controlplane, kwok, pulumi-cli, pulumi-kubernetes, pulumi-python; about 11 min on 2 cores, once",
    )
    finished(folder, "controlplane", "pulumi-cli")
    assert looks.look_at_tool_chain(request(machine), {}).text == (
        "not built: kwok, pulumi-kubernetes, pulumi-python; about 3 min on 2 cores, once"
    )
    finished(folder, "kwok")
    (folder / "pulumi-build").mkdir()
    assert looks.look_at_tool_chain(request(machine), {}) == Finding(
        State.OK, f"complete, {folder}", brief="tool chain"
    )


def test_a_tool_chain_that_was_downloaded(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, "download")
    found = looks.look_at_tool_chain(request(machine), {})
    assert found == Finding(State.MISSING, "not installed: controlplane, kwok, pulumi; they would be downloaded")
    for name in ("controlplane", "kwok", "pulumi"):
        (toolchain_folder() / f"{name}-download").mkdir(parents=True)
    found = looks.look_at_tool_chain(request(machine), {})
    assert found == Finding(State.OK, f"complete, {toolchain_folder()}", brief="tool chain")
