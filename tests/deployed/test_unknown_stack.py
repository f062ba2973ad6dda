"""The preview of a stack that the backend does not have. A program replaces Pulumi; the engine's own answer is in
`tests/engine/test_review.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.deployed.preview_runs import EngineRun, finished, previews_in

FILE = "stacks/Pulumi.bert.dev.yaml"
CONFIG = "config:\n  trainform:experiment: bert # ours\n"
PULUMI = """#!/bin/sh
case "$PULUMI_BACKEND_URL" in
  file:///*trainform-preview-*) ;;
  *) echo "error: no stack named 'bert.dev' found" >&2; exit 6 ;;
esac
[ "$1 $2" = "stack init" ] && { echo "encryptionsalt: v1:new" >> stacks/Pulumi.bert.dev.yaml; exit; }
pwd; cat stacks/Pulumi.bert.dev.yaml; ls . stacks; echo "passphrase ${#PULUMI_CONFIG_PASSPHRASE}"
echo "in $(pwd)" >&2
"""


@pytest.fixture
def root(pulumi: Path, tmp_path: Path) -> Path:
    """A project whose backend has no stack."""
    root = tmp_path / "vision"
    (root / "stacks" / "experiments").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: vision\nruntime: python\nmain: stacks\n")
    (root / FILE).write_text(f"encryptionsalt: v1:old\n{CONFIG}")
    (root / "stacks" / "__main__.py").touch()
    pulumi.write_text(PULUMI)
    return root


def preview(root: Path) -> EngineRun:
    with previews_in(root) as begin:
        return finished(begin("bert.dev"))


def test_it_runs_in_a_copy_and_leaves_the_project_as_it_was(root: Path) -> None:
    before = (root / FILE).read_text()
    found = preview(root)
    assert (found.code, found.errors) == (0, f"in {root}\n"), "no path of the copy is shown"
    assert found.note.startswith("The backend does not have the stack bert.dev")
    lines = found.text.splitlines()
    assert lines[0] == str(root)
    assert "\n".join(lines[1:4]) == f"{CONFIG}encryptionsalt: v1:new", "without the salt of another passphrase"
    assert {"Pulumi.yaml", "__main__.py", "experiments", "passphrase 32"} <= {*lines}
    assert (root / FILE).read_text() == before


def test_encrypted_values_need_their_passphrase(root: Path) -> None:
    (root / FILE).write_text(f"{CONFIG}  trainform:sshSecret:\n    secure: v1:abc\n")
    found = preview(root)
    assert found.code == 6
    assert found.errors.startswith("error: not previewed: needs its passphrase")


def test_a_stack_without_a_file_is_not_copied(root: Path) -> None:
    (root / FILE).unlink()
    assert "no stack named" in preview(root).errors
