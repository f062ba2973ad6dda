"""The demo's copy of the project: what it lacks is copied, and edits by the user stay."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.local.toolchain.recording import Recording
from tests.support.repository import ROOT, copy_stacks
from trainform.console.progress import SILENT
from trainform.errors import SandboxError
from trainform.local.sandbox.control import down
from trainform.local.sandbox.folder import Layout, chosen_folder
from trainform.local.sandbox.project_copy import copy_folder, copy_project, strip_secrets

PLAIN = """\
# a comment
config:
  trainform:experiment: hello
  trainform:environment: dev
"""
SALTED = f"{PLAIN}encryptionsalt: v1:L3jw4eYLX50=:v1:PjKGLDGs6BwFyMMF:6Rhg4Xd9EEgqD4jeQiUKOaXy0qYyCg==\n"
WITH_SECRET = SALTED.replace(
    "encryptionsalt",
    "  trainform:sshSecret:\n    secure: v1:iBnpg5xTksiNXgVG:wuWMC5BQnynGDbRSJFONASjNOD8=\nencryptionsalt",
)
STACK = "stacks/Pulumi.sdxl-lora.dev.yaml"
EXPERIMENT = "stacks/experiments/sdxl-lora.yaml"


@pytest.mark.parametrize(
    "text",
    [PLAIN, SALTED, SALTED.removesuffix("\n"), f"secretsprovider: awskms://alias/x\nencryptedkey: AQI\n  DAH\n{PLAIN}"],
)
def test_a_stack_file_without_its_salt_is_the_one_that_was_committed(text: str) -> None:
    assert strip_secrets(STACK, text) == PLAIN


NAMES = st.from_regex(r"trainform:[a-z]{1,8}", fullmatch=True)
VALUES = st.one_of(st.text("abc :#'\n", max_size=8), st.integers(), st.lists(st.text("ab", max_size=3), max_size=2))


@given(st.dictionaries(NAMES, VALUES), st.sampled_from(["secretsprovider", "encryptedkey", "encryptionsalt"]))
def test_the_config_stays_without_its_salt(config: dict[str, object], key: str) -> None:
    for content in ({"config": config, key: "v1:x"}, {key: "v1:x", "config": config}):
        assert yaml.safe_load(strip_secrets(STACK, yaml.safe_dump(content, sort_keys=False))) == {"config": config}


def test_secrets_are_removed_with_their_salt_from_stack_files_only() -> None:
    assert yaml.safe_load(strip_secrets(STACK, WITH_SECRET)) == yaml.safe_load(PLAIN)
    assert strip_secrets(EXPERIMENT, WITH_SECRET) == WITH_SECRET
    others = SALTED.replace(
        "encryptionsalt", "  lab:key: {secure: v1:a}\n  lab:keys:\n  - secure: v1:b\nencryptionsalt"
    )
    config = yaml.safe_load(PLAIN)["config"]
    assert yaml.safe_load(strip_secrets(STACK, others)) == {"config": {**config, "lab:keys": []}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a clone of the repository with the files that the demo copies."""
    project = tmp_path / "clone"
    copy_stacks(project / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", project)
    return project


@pytest.fixture
def sandbox_folder(project: Path) -> Path:
    """Return the folder of its sandbox, which has a passphrase already."""
    layout = Layout(project / ".trainform" / "sandbox")
    layout.make()
    return layout.root


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a project by path."""
    files = [folder / "Pulumi.yaml", *(folder / "stacks").rglob("*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}


def test_the_copy_equals_the_project_and_the_project_does_not_change(project: Path, sandbox_folder: Path) -> None:
    (project / "stacks" / "__pycache__").mkdir()
    (project / "stacks" / "logo.png").write_bytes(b"\x89PNG\xff\r\n")
    before = contents(project)
    (project / "stacks" / "__pycache__" / "x.pyc").touch()
    folder = copy_project(project, sandbox_folder, SILENT)
    assert folder == project / ".trainform" / "sandbox-demo" == copy_folder(sandbox_folder)
    assert contents(folder) == before
    assert (folder / ".venv").resolve() == Path(sys.prefix).resolve()
    (project / "stacks" / "__pycache__" / "x.pyc").unlink()
    assert contents(project) == before


def test_commands_in_the_copy_find_the_sandbox_of_the_clone(
    project: Path, sandbox_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRAINFORM_SANDBOX", raising=False)
    folder = copy_project(project, sandbox_folder, SILENT)
    monkeypatch.chdir(folder / "stacks")
    assert chosen_folder() == sandbox_folder
    shutil.rmtree(sandbox_folder)
    assert chosen_folder() == sandbox_folder, "also where `down --purge` has removed it"


def test_the_next_demo_keeps_what_the_copy_has_and_says_so(project: Path, sandbox_folder: Path) -> None:
    folder = copy_project(project, sandbox_folder, SILENT)
    (folder / EXPERIMENT).write_text("mine\n")
    (folder / "stacks" / "experiments" / "new.yaml").write_text("mine too\n")
    (folder / "stacks" / "experiments" / "hello.yaml").unlink()
    (folder / STACK).write_text(f"{(folder / STACK).read_text()}encryptionsalt: v1:x\n")
    notes = Recording()
    assert copy_project(project, sandbox_folder, notes) == folder
    assert (folder / EXPERIMENT).read_text() == "mine\n"
    assert (folder / "stacks" / "experiments" / "new.yaml").read_text() == "mine too\n"
    assert (folder / "stacks" / "experiments" / "hello.yaml").exists()
    (line,) = notes.lines
    assert line.startswith(f"the demo uses {EXPERIMENT} of {folder}, which differ from the project's")
    (folder / EXPERIMENT).unlink()
    copy_project(project, sandbox_folder, SILENT)
    assert (folder / EXPERIMENT).read_bytes() == (project / EXPERIMENT).read_bytes()


def test_salts_in_the_copy_end_with_the_passphrase(project: Path, sandbox_folder: Path) -> None:
    folder = copy_project(project, sandbox_folder, SILENT)
    (folder / STACK).write_text(WITH_SECRET)
    down(sandbox_folder)
    copy_project(project, sandbox_folder, SILENT)
    assert (folder / STACK).read_text() == WITH_SECRET, "`make stop` keeps the passphrase"
    down(sandbox_folder, purge=True)
    assert yaml.safe_load((folder / STACK).read_text()) == yaml.safe_load(PLAIN)
    (folder / STACK).write_text(WITH_SECRET)
    copy_project(project, sandbox_folder, SILENT)
    assert "secure" not in (folder / STACK).read_text(), "also where the sandbox's folder was removed by hand"


def test_the_salts_and_secrets_of_a_clone_are_not_copied(project: Path, sandbox_folder: Path) -> None:
    (project / STACK).write_text(WITH_SECRET)
    folder = copy_project(project, sandbox_folder, SILENT)
    assert yaml.safe_load((folder / STACK).read_text()) == yaml.safe_load(PLAIN)
    assert (project / STACK).read_text() == WITH_SECRET


def test_a_folder_with_other_files_is_refused(project: Path, sandbox_folder: Path) -> None:
    folder = copy_folder(sandbox_folder)
    (folder / "stacks").mkdir(parents=True)
    (folder / "stacks" / "__main__.py").write_text("mine\n")
    with pytest.raises(SandboxError, match="is not the demo's copy of a project: it holds stacks") as caught:
        copy_project(project, sandbox_folder, SILENT)
    assert "TRAINFORM_SANDBOX" in caught.value.fix
    assert [path.name for path in folder.iterdir()] == ["stacks"]


def test_after_a_failed_update_the_next_one_continues(project: Path, sandbox_folder: Path) -> None:
    folder = copy_project(project, sandbox_folder, SILENT)
    last = project / "stacks" / "z" / "last.yaml"
    last.parent.mkdir()
    last.touch()
    obstacle = folder / "stacks" / "z"
    obstacle.touch()
    with pytest.raises(SandboxError, match=str(obstacle)):
        copy_project(project, sandbox_folder, SILENT)
    obstacle.unlink()
    notes = Recording()
    copy_project(project, sandbox_folder, notes)
    assert notes.lines == []
    assert contents(folder) == contents(project)
