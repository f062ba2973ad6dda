"""The table of parts and its pins."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from trainform.local.toolchain.addons import ADDON_PARTS, COREDNS, NODE, addon_fingerprint
from trainform.local.toolchain.cache import cache_folder, toolchain_folder
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS, PINS, PULUMI_PARTS, PULUMI_VERSION, Part, fingerprint

BASE = (*CONTROL_PLANE_PARTS, *PULUMI_PARTS)
PARTS = (*BASE, *ADDON_PARTS, NODE, COREDNS)


def test_every_folder_of_pins_has_a_row_and_every_row_a_folder() -> None:
    assert {part.module for part in PARTS} == {path.name for path in PINS.iterdir() if path.is_dir()}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.folder)
def test_pins_have_all_files(part: Part) -> None:
    folder = PINS / part.module
    assert (folder / "go.sum").stat().st_size > 1000, "hashes of modules that no checksum database knows are only here"
    assert re.search(r"^go 1\.26", (folder / "go.mod").read_text(), re.MULTILINE)


def test_versions_in_the_table_are_those_of_the_pins() -> None:
    text = (PINS / "pulumi-cli" / "go.mod").read_text()
    assert f"github.com/pulumi/pulumi/pkg/v3 v{PULUMI_VERSION}" in text


@pytest.mark.parametrize("changed", ["kwok/go.sum", "pulumi-kubernetes/sdk/go/kubernetes/untyped.go", "kueue/go.sum"])
def test_another_pin_uses_another_folder_of_its_own_part(tmp_path: Path, changed: str) -> None:
    copy = shutil.copytree(PINS, tmp_path / "pins")
    with (copy / changed).open("a") as file:
        file.write("\n")
    addons = {part.folder for part in ADDON_PARTS if addon_fingerprint(part, copy) != addon_fingerprint(part)}
    assert addons == {part.folder for part in ADDON_PARTS if part.module == changed.partition("/")[0]}
    assert (fingerprint(copy) != fingerprint(PINS)) == (not addons)


def test_cache_folder_is_that_of_the_variable(cache: Path) -> None:
    assert cache_folder() == cache
    assert toolchain_folder() == cache / f"toolchain-{fingerprint()}"


def test_default_cache_is_outside_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAINFORM_CACHE")
    assert not cache_folder().is_relative_to(PINS.parents[4])
    assert cache_folder().name == "trainform"
