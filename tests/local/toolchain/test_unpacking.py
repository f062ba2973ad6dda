"""Archives: nothing is written outside of the folder, and every corruption is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Internet, archive
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.ensure import ensure_pulumi


def test_an_archive_cannot_write_outside_of_its_folder(internet: Internet, copy: Path, tmp_path: Path) -> None:
    members = {
        "../../pulumi/evil": b"#",
        "/pulumi/evil2": b"#",
        "pulumi/pulumi": official.PULUMI,
        "pulumi/pulumi-language-python": b"#!/bin/sh\n",
    }
    official.put_archive(internet, official.SDK_ARCHIVE, official.SDK_SUMS, archive(members))
    tools = ensure_pulumi(SILENT, copy)
    assert {path.name for path in tools.bin.iterdir()} == {"pulumi", "pulumi-language-python", "evil2"}
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("wanted", ["pulumi", "plugin"])
def test_an_archive_without_the_programs_is_reported(internet: Internet, copy: Path, wanted: str) -> None:
    urls = (
        (official.SDK_ARCHIVE, official.SDK_SUMS)
        if wanted == "pulumi"
        else (official.PLUGIN_ARCHIVE, official.PLUGIN_SUMS)
    )
    official.put_archive(internet, *urls, archive({"README": b"nothing here"}))
    with pytest.raises(ToolchainError, match=r"\.tar\.gz does not contain pulumi"):
        ensure_pulumi(SILENT, copy)
