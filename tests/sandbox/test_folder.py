"""Where a sandbox lies and what is in its folder."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from trainform.sandbox.folder import Layout, chosen_folder, write_private


def test_the_folder_is_the_one_named_then_the_variables_then_the_projects(
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


def test_the_passphrase_is_made_once_and_is_nobody_elses(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "sandbox")
    layout.make()
    first = layout.passphrase.read_text()
    layout.make()
    assert layout.passphrase.read_text() == first
    assert len(first) >= 40
    assert stat.S_IMODE(layout.passphrase.stat().st_mode) == 0o600
    assert stat.S_IMODE(layout.root.stat().st_mode) == 0o700


def test_removing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.make()
    (tmp_path / "notes.txt").touch()
    layout.remove_all()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_private(path, b"one")
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
