"""Where a sandbox's folder is, and which files it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trainform.errors import SandboxError
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.exports import exports
from trainform.local.sandbox.folder import Layout, chosen_folder, write_private
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.sandbox.state import read_processes, read_settings
from trainform.local.sandbox.status import status
from trainform.local.toolchain.tools import ControlPlane, PulumiTools, Toolchain


def test_folder_is_chosen_by_option_then_variable_then_project_then_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "stacks").mkdir(parents=True)
    monkeypatch.chdir(project / "stacks")
    monkeypatch.delenv("TRAINFORM_SANDBOX", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert chosen_folder().name == "sandbox"
    assert not chosen_folder().is_relative_to(project)
    (project / "Pulumi.yaml").touch()
    assert chosen_folder() == project / ".trainform" / "sandbox"
    monkeypatch.setenv("TRAINFORM_SANDBOX", "~/other")
    assert chosen_folder() == tmp_path / "other"
    assert chosen_folder(Path("mine")) == project / "stacks" / "mine"


def test_purge_keeps_files_that_are_not_the_sandboxes(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.make()
    (tmp_path / "notes.txt").touch()
    layout.remove(purge=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_write_private_replaces_the_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_private(path, b"one")
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_down_keeps_the_passphrase_and_the_logs_and_purge_removes_them(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "sandbox")
    layout.make()
    passphrase = layout.passphrase.read_text()
    layout.log("etcd").touch()
    down(layout.root)
    assert sorted(path.name for path in layout.root.iterdir()) == ["lock", "logs", "passphrase"]
    layout.make()
    assert layout.passphrase.read_text() == passphrase, "stacks remember what was encrypted with it"
    down(layout.root, purge=True)
    assert not layout.root.exists()


TOOLCHAIN = Toolchain(PulumiTools(Path("/none"), Path("/none"), "build"), ControlPlane({}, (), ()))


@pytest.mark.parametrize(
    "act", [status, down, exports, read_settings, lambda folder: up(SandboxSettings(folder), TOOLCHAIN)]
)
def test_a_file_in_the_place_of_the_folder_is_an_error_with_path_and_fix(
    tmp_path: Path, act: Callable[[Path], object]
) -> None:
    file = tmp_path / "hostname"
    file.touch()
    with pytest.raises(SandboxError) as caught:
        act(file)
    assert str(file) in caught.value.message
    assert "--folder" in caught.value.fix


@pytest.mark.parametrize("damaged", ["", "{", "[]", "3", "[" * 100_000, '{"format": 0}'], ids=lambda text: text[:12])
def test_a_damaged_state_is_read_as_no_state(damaged: str, tmp_path: Path) -> None:
    Layout(tmp_path).state.write_text(damaged)
    assert read_settings(tmp_path) is None
    assert read_processes(Layout(tmp_path)) == []
