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

from tests.doctor.conftest import Program, request
from trainform.doctor import machine as looks
from trainform.doctor.checks import ADDONS, CHECKS
from trainform.doctor.model import Finding, State
from trainform.sandbox.addons import chosen_addons, required_parts, with_dependencies
from trainform.toolchain.addons import ADDON_PARTS, addon_folder
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.origins import MODE_VARIABLE
from trainform.toolchain.parts import CONTROL_PLANE_PARTS, PULUMI_PARTS

PACKAGES = {"python": "3.12.4", "pip": "26.3", "trainform": "0.1.0", "pulumi": "3.259.0", "pulumi-kubernetes": "4.25.0"}


def project(root: Path, options: object) -> Path:
    """A project with these options of its runtime."""
    root.mkdir(exist_ok=True)
    (root / "Pulumi.yaml").write_text(
        yaml.safe_dump({"name": "mine", "runtime": {"name": "python", "options": options}})
    )
    return root


def of_program(program: Program, root: Path, **packages: str | None) -> Finding:
    """The finding on a Python that answers so, the one on PATH."""
    program("python3", f"echo '{json.dumps(PACKAGES | packages)}'")
    return looks.look_at_python(request(project(root, {})), {})


def test_outside_a_project_it_is_the_python_of_this_command(machine: Path) -> None:
    found = looks.look_at_python(request(machine), {})
    assert found.state is State.OK
    assert found.text == f"{platform.python_version()}, {sys.executable}"
    assert found.details["pulumi-kubernetes"] == importlib.metadata.version("pulumi-kubernetes")


def test_a_new_virtual_environment_lacks_the_packages(machine: Path) -> None:
    """A real one, without pip, as `uv venv` makes it."""
    root = project(machine / "mine", {"virtualenv": "env"})
    venv.create(root / "env", with_pip=False, symlinks=True)
    found = looks.look_at_python(request(root), {})
    assert (found.state, found.details["pip"]) == (State.MISSING, None)
    assert found.text.endswith(f"{root}/env/bin/python has no trainform, pulumi, pulumi-kubernetes")


@pytest.mark.parametrize("options", [{"virtualenv": ".venv"}, {"toolchain": "uv"}])
def test_a_virtual_environment_that_is_not_there(machine: Path, options: dict[str, str]) -> None:
    root = project(machine / "mine", options)
    found = looks.look_at_python(request(root), {})
    assert (found.state, found.text) == (State.MISSING, f"there is no {root}/.venv/bin/python")
    assert found.fix.startswith(f"python3 -m venv {root}/.venv, and install trainform into it")
    (root / "tools").mkdir()
    (root / "tools" / "venv.py").touch()
    assert looks.look_at_python(request(root), {}).fix == "make venv"


def test_a_project_without_one_runs_the_python_on_path(
    machine: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_program(program, machine / "mine").text == f"3.12.4, {machine}/bin/python3"
    program("python3.13", f"echo '{json.dumps(PACKAGES | {'python': '3.13.1'})}'")
    monkeypatch.setenv("PULUMI_PYTHON_CMD", "python3.13")
    assert of_program(program, machine / "mine").text == f"3.13.1, {machine}/bin/python3.13"


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        ({"python": "3.10.12"}, "3.11 or later is required"),
        ({"python": "?"}, "3.11 or later is required"),
        ({"pulumi": None}, "has no pulumi"),
    ],
)
def test_a_python_that_will_not_do(
    machine: Path, program: Program, packages: dict[str, str | None], reason: str
) -> None:
    found = of_program(program, machine / "mine", **packages)
    assert found.state is State.MISSING
    assert found.text.endswith(reason)


@pytest.mark.parametrize(
    "content", ["", "runtime: python\n", "runtime: [", "- a\n", "runtime: {options: 5}\n", "\udcff"]
)
def test_whatever_the_project_file_holds(machine: Path, program: Program, content: str) -> None:
    of_program(program, machine / "mine")
    (machine / "mine" / "Pulumi.yaml").write_bytes(content.encode(errors="surrogateescape"))
    assert looks.look_at_python(request(machine / "mine"), {}).text == f"3.12.4, {machine}/bin/python3"


@pytest.mark.parametrize(
    ("pip", "state"),
    [("23.2.1", State.NOTE), ("24.0", State.NOTE), ("24.1", State.OK), ("26.3", State.OK), (None, State.MISSING)],
)
def test_pip(machine: Path, program: Program, pip: str | None, state: State) -> None:
    python = of_program(program, machine / "my project", pip=pip)
    found = looks.look_at_pip(request(machine / "my project"), {"python": python})
    assert found.state is state
    assert found.fix == (
        ""
        if state is State.OK
        else f"{machine}/bin/python3 -m pip install --upgrade pip"
        if pip is not None
        else f"{machine}/bin/python3 -m ensurepip && {machine}/bin/python3 -m pip install --upgrade pip"
    )


def test_uv_brings_a_pip_of_its_own(machine: Path) -> None:
    root = project(machine / "mine", {"toolchain": "uv"})
    python = Finding(State.OK, "", details=PACKAGES | {"pip": None, "path": "/my env/bin/python"})
    found = looks.look_at_pip(request(root), {"python": python})
    assert (found.state, found.fix) == (State.NOTE, "uv pip install --python '/my env/bin/python' pip")


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (['echo "go1.26.8"'], State.OK),
        (['echo "go1.25.3"'], State.NOTE),
        (['echo "devel"'], State.NOTE),
        (['[ "$GOTOOLCHAIN" = local ] && echo go1.27.0'], State.OK),
    ],
)
def test_go(machine: Path, program: Program, lines: list[str], state: State) -> None:
    assert looks.look_at_go(request(machine), {}).state is State.NOTE
    path = program("go", *lines)
    found = looks.look_at_go(request(machine), {})
    assert found.state is state
    assert str(path) in found.text


def test_the_version_of_go_is_a_word(machine: Path, program: Program) -> None:
    """What `go env` prints ends its line."""
    path = program("go", "echo go1.26.8")
    assert looks.look_at_go(request(machine), {}) == Finding(State.OK, f"1.26.8, {path}")


def test_kubectl(machine: Path, program: Program) -> None:
    assert looks.look_at_kubectl(request(machine), {}).state is State.NOTE
    path = program("kubectl", """echo '{"clientVersion": {"gitVersion": "v1.34.1"}}'""")
    assert looks.look_at_kubectl(request(machine), {}) == Finding(State.OK, f"v1.34.1, {path}")


def test_programs_by_name(machine: Path, program: Program) -> None:
    assert looks.look_for_program("make")(request(machine), {}) == Finding(State.MISSING, "not on PATH")
    path = program("make")
    assert looks.look_for_program("make")(request(machine), {}) == Finding(State.OK, str(path))


def finished(folder: Path, *parts: str) -> None:
    """Parts of the tool chain as a build leaves them."""
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
    assert looks.look_at_tool_chain(request(machine), {}) == Finding(State.OK, f"complete, {folder}; its pulumi: build")


def test_a_tool_chain_that_was_downloaded(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, "download")
    found = looks.look_at_tool_chain(request(machine), {})
    assert found == Finding(State.MISSING, "not installed: controlplane, kwok, pulumi; they would be downloaded")
    for name in ("controlplane", "kwok", "pulumi"):
        (toolchain_folder() / f"{name}-download").mkdir(parents=True)
    found = looks.look_at_tool_chain(request(machine), {})
    assert found == Finding(State.OK, f"complete, {toolchain_folder()}; its pulumi: download")


def test_the_add_ons(machine: Path) -> None:
    found = looks.look_at_addons(request(machine), {})
    assert found.state is State.MISSING
    assert found.text.startswith("not built: training-operator, trainer, kueue, kubedl, kube-scheduler; about 7 min")
    for part in ADDON_PARTS:
        (addon_folder(part) / part.folder).mkdir(parents=True)
    assert looks.look_at_addons(request(machine), {}) == Finding(State.OK, "complete")


@pytest.mark.parametrize(
    ("needed", "tool_chain", "state"),
    [(0, State.MISSING, State.OK), (10**9, State.MISSING, State.MISSING), (10**9, State.OK, State.OK)],
)
def test_disk(machine: Path, monkeypatch: pytest.MonkeyPatch, needed: int, tool_chain: State, state: State) -> None:
    """Room is needed for what is still to be built; an exabyte is more than this machine has."""
    monkeypatch.setenv("TRAINFORM_CACHE", str(machine / "not" / "yet"))
    monkeypatch.setattr(looks, "BUILD_GB", needed)
    found = looks.look_at_disk(request(machine), {"tool_chain": Finding(tool_chain, "")})
    assert found.state is state
    assert f" GB free in {machine}/not/yet" in found.text


def test_no_docker(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainform.errors import TrainformError

    monkeypatch.setenv("DOCKER_HOST", f"unix://{machine}/docker.sock")
    with pytest.raises(TrainformError, match="a rehearsal needs Docker, and none answers") as caught:
        looks.look_at_docker(request(machine), {})
    assert "apt-get install docker.io" in caught.value.fix


def test_the_fix_for_add_ons_installs_all_of_them() -> None:
    names = with_dependencies(chosen_addons([ADDONS]))
    assert set(required_parts(names)) == set(ADDON_PARTS)
    [check] = [check for check in CHECKS if check.name == "addons"]
    assert check.fix == f"trainform toolchain ensure --with {ADDONS}"
