"""Parts of add-ons: each has its own fingerprint and folder, and is built on request."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from tests.local.toolchain.conftest import TINY
from tests.local.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.local.toolchain.addons import addon_fingerprint, addon_folder, ensure_addons

SECOND = structs.replace(TINY, folder="second", minutes=0.2)


@pytest.fixture
def both(pins: Path) -> Path:
    """Write the pins of two parts."""
    shutil.copytree(pins / TINY.folder, pins / SECOND.folder)
    return pins


def test_each_part_is_built_in_its_folder_and_the_total_time_is_shown_first(cache: Path, both: Path) -> None:
    progress = Recording()
    built = ensure_addons([TINY, SECOND, TINY], progress, both)
    assert (
        progress.lines[0]
        == "these parts of the add-ons are built once: tiny, second; together less than a minute on 2 cores"
    )
    assert sorted(path.name for path in cache.iterdir()) == [
        f"addon-second-{addon_fingerprint(SECOND, both)}",
        f"addon-tiny-{addon_fingerprint(TINY, both)}",
    ]
    for part in built.values():
        answer = subprocess.run([part.binary("tiny")], capture_output=True, text=True, check=True)
        assert answer.stderr.strip() == "hello"
    again = Recording()
    assert ensure_addons([TINY, SECOND], again, both) == built
    assert again.lines == []


def test_a_part_that_does_not_compile_does_not_remove_the_others(both: Path) -> None:
    (both / "second" / "main.go").write_text("package main\n\nfunc main() { gretting() }\n")
    with pytest.raises(ToolchainError, match="undefined: gretting"):
        ensure_addons([TINY, SECOND], pins=both)
    assert (addon_folder(TINY, both) / "tiny").is_dir()
    assert not (addon_folder(SECOND, both) / "second").exists()
