"""Whoever kills a promotion at any moment leaves no half of a file and no stack that names nothing, and the next
promotion goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.releases.killed import promote
from tests.support.releases import project
from tests.support.repository import ROOT
from trainform.releases.files import read_release, releases_of
from trainform.spec.stack import load_stack

STACK = "sdxl-lora.prod"
FEWEST = 8  # folders, the two files, their modes and their places


def killed(root: Path, number: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "tests.releases.killed", str(root), str(number)]
    return subprocess.run(words, cwd=ROOT, timeout=60, capture_output=True, text=True, check=False)


def fresh(folder: Path) -> Path:
    folder.mkdir()
    project(folder)
    return folder


def test_at_every_operation_on_files(tmp_path: Path) -> None:
    whole = killed(fresh(tmp_path / "whole"), 0)
    assert whole.returncode == 0, whole.stderr
    operations = int(whole.stdout)
    assert operations >= FEWEST
    seen = set()
    for number in range(1, operations + 1):
        root = fresh(tmp_path / str(number))
        before = (root / "stacks" / f"Pulumi.{STACK}.yaml").read_text()
        assert killed(root, number).returncode == -signal.SIGKILL
        left = releases_of("sdxl-lora", root)  # each of them is whole
        found = load_stack(STACK, root).release
        seen.add((len(left), found is None))
        assert left or found is None
        if found is None:
            assert (root / "stacks" / f"Pulumi.{STACK}.yaml").read_text() == before
        else:
            read_release("sdxl-lora", found, root)

        name = promote(root, "2026-11-23T14:40:00Z")
        assert load_stack(STACK, root).release == name
        if found is None:
            assert [*releases_of("sdxl-lora", root)] == [name], (
                "the release of the promotion that was killed, if there is one"
            )
            assert not left or name in left
    assert {(0, True), (1, True)} <= seen, "before the release, and between it and the stack"
