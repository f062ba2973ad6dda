"""Checks of Pulumi with programs and files that are written by the test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doctor.conftest import Program, request
from trainform.doctor import pulumi as looks
from trainform.doctor.model import Finding, State
from trainform.toolchain.cache import toolchain_folder

PYTHON = {"python": Finding(State.OK, "", details={"pulumi-kubernetes": "4.25.0"})}
SECRET = "pul-s3cret"  # noqa: S105 - of these tests


def plugin(home: Path, version: str) -> Path:
    """A plugin as Pulumi installs it."""
    path = home / "plugins" / f"resource-kubernetes-{version}" / "pulumi-resource-kubernetes"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def built() -> Path:
    """The folder of a pulumi in the tool chain's cache."""
    folder = toolchain_folder() / "pulumi-build"
    (folder / "bin").mkdir(parents=True)
    return folder


def test_no_pulumi(machine: Path) -> None:
    assert looks.look_at_pulumi(request(machine), {}) == Finding(
        State.MISSING, "not on PATH", "trainform toolchain ensure --pulumi-only"
    )


def test_a_built_pulumi_that_is_not_on_path(machine: Path) -> None:
    folder = built()
    found = looks.look_at_pulumi(request(machine), {})
    assert found.state is State.MISSING
    assert found.fix == f'export PATH="{folder}/bin:$PATH" PULUMI_HOME="{folder}/home"'


@pytest.mark.parametrize(
    ("answer", "host", "state", "reason"),
    [
        ("v3.259.0", True, State.OK, "v3.259.0, "),
        ("v3.259.0", False, State.MISSING, "has no pulumi-language-python in its folder"),
        ("v3.231.0", True, State.MISSING, "is 3.231; 3.232 or later is required"),
        ("hello", True, State.MISSING, "is unknown; 3.232 or later is required"),
    ],
)
def test_pulumi(machine: Path, program: Program, answer: str, host: bool, state: State, reason: str) -> None:
    program("pulumi", f"echo {answer}")
    if host:
        program("pulumi-language-python")
    found = looks.look_at_pulumi(request(machine), {})
    assert found.state is state
    assert reason in found.text


def test_the_plugin_of_the_sdk(machine: Path) -> None:
    home = machine / "home" / ".pulumi"
    found = looks.look_at_plugin(request(machine), PYTHON)
    assert (found.state, found.fix) == (State.NOTE, "pulumi plugin install resource kubernetes v4.25.0")
    assert found.text.endswith("found: none; the next preview will download it")
    plugin(home, "v4.24.0")
    assert "found: v4.24.0" in looks.look_at_plugin(request(machine), PYTHON).text
    plugin(home, "v4.25.0")
    assert looks.look_at_plugin(request(machine), PYTHON).state is State.OK


def test_an_engine_that_must_not_download_plugins(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "true")
    assert looks.look_at_plugin(request(machine), PYTHON).state is State.MISSING


def test_the_tool_chain_has_the_plugin(machine: Path) -> None:
    path = plugin(built() / "home", "v4.25.0")
    found = looks.look_at_plugin(request(machine), PYTHON)
    assert found.fix == f"pulumi plugin install resource kubernetes v4.25.0 -f {path}"


def test_another_sdk_in_a_shell_of_the_sandbox(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the engine fetches nothing, and it is the SDK that must fit."""
    home = built() / "home"
    plugin(home, "v4.25.0")
    monkeypatch.setenv("PULUMI_HOME", str(home))
    monkeypatch.setenv("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "true")
    newer = {"path": "/my env/bin/python", "pulumi-kubernetes": "4.34.2"}
    found = looks.look_at_plugin(request(machine), {"python": Finding(State.OK, "", details=newer)})
    assert "no v4.34.2, the version of the Python package" in found.text
    assert found.state is State.MISSING
    assert found.fix == "'/my env/bin/python' -m pip install pulumi-kubernetes==4.25.0"


def test_the_fix_for_an_sdk_without_a_plugin(machine: Path, program: Program) -> None:
    home = machine / "tools"
    plugin(home, "v4.25.0")
    (machine / "Pulumi.yaml").write_text("name: vision\nruntime: python\n")
    assert looks.sdk_fix(machine, home) == "", "there is no Python: the doctor tells"
    versions = {"python": "3.12.4", "trainform": "0.1.0", "pulumi": "3.259.0", "pip": "26.0"}
    for sdk, told in (("4.25.0", False), ("4.34.2", True), (None, False)):
        python = program("python3", f"echo '{json.dumps({**versions, 'pulumi-kubernetes': sdk})}'")
        fix = f"to correct it: {python} -m pip install pulumi-kubernetes==4.25.0"
        assert (fix in looks.sdk_fix(machine, home)) == told
    program("python3", "exit 1")
    assert looks.sdk_fix(machine, home) == ""


def test_another_pulumi_home(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(machine / "other", "v4.25.0")
    monkeypatch.setenv("PULUMI_HOME", str(machine / "other"))
    assert looks.look_at_plugin(request(machine), PYTHON).state is State.OK


# --- where the state is: as the real pulumi was seen to look for it


def login(folder: Path, current: str, token: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "credentials.json").write_text(json.dumps({"current": current, "accessTokens": {current: token}}))


def state_of(machine: Path) -> tuple[State, str]:
    found = looks.look_at_state(request(machine), {})
    return found.state, found.text


def test_no_login(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_of(machine) == (State.MISSING, "not logged in")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", SECRET)
    assert state_of(machine) == (State.OK, "Pulumi Cloud, with PULUMI_ACCESS_TOKEN")


def test_the_last_login(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = machine / "home" / ".pulumi"
    login(home, "https://api.pulumi.com", SECRET)
    assert state_of(machine) == (State.OK, "https://api.pulumi.com")
    login(home, "https://api.pulumi.com")
    found = looks.look_at_state(request(machine), {})
    assert (found.state, found.fix) == (State.MISSING, "pulumi login https://api.pulumi.com")
    login(machine / "elsewhere", "s3://states?endpoint=x&key=y")
    monkeypatch.setenv("PULUMI_CREDENTIALS_PATH", str(machine / "elsewhere"))
    assert state_of(machine) == (State.OK, "s3://states")


def test_the_project_before_the_login_and_the_variable_before_both(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(machine / "home" / ".pulumi", "gs://last")
    (machine / "Pulumi.yaml").write_text("name: mine\nbackend: {url: azblob://project}\n")
    assert state_of(machine) == (State.OK, "azblob://project")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://variable")
    assert state_of(machine) == (State.OK, "s3://variable")


def test_the_folder_of_a_file_backend_must_exist(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{machine}/my states?metadata=skip")
    found = looks.look_at_state(request(machine), {})
    assert (found.state, found.fix) == (State.MISSING, f"mkdir -p '{machine}/my states'")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file://~")
    assert state_of(machine) == (State.OK, "file://~")


@pytest.mark.parametrize("content", ["", "[]", '{"current": 5}', '{"current": "https://a.b", "accessTokens": []}', "{"])
def test_an_invalid_file_of_logins_raises_nothing(machine: Path, content: str) -> None:
    (machine / "home" / ".pulumi").mkdir()
    (machine / "home" / ".pulumi" / "credentials.json").write_text(content)
    assert looks.look_at_state(request(machine), {}).text
