"""Archives: nothing is written outside of the folder, and every corruption is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchain import official
from tests.toolchain.internet import Internet, archive
from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain import ensure_pulumi
from trainform.toolchain.releases import ARCHIVE, Release
from trainform.toolchain.resolving import resolve_release
from trainform.toolchain.unpacking import extract


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


def test_every_corruption_of_an_archive_is_found(tmp_path: Path) -> None:
    """Every byte of a small archive without a published hash changed in three ways, and every length it can be cut to."""
    text = official.PULUMI + "".join(f"echo {number * 7919 % 1009} {number}\n" for number in range(60)).encode()
    release = Release("pulumi", ARCHIVE, "3.259.0", "https://get.pulumi.com/pulumi.tar.gz", (("pulumi/*", "bin/"),))
    located = resolve_release(release, "Linux", "x86_64")
    content = archive({"pulumi/pulumi": text})
    spoilt = [content[:length] for length in range(len(content))]
    for position, byte in enumerate(content):
        spoilt += [content[:position] + bytes([byte ^ mask]) + content[position + 1 :] for mask in (0x01, 0x10, 0xFF)]
    refused = 0
    for variant in spoilt:
        (tmp_path / "archive.tar.gz").write_bytes(variant)
        try:
            extract(located, tmp_path / "archive.tar.gz", tmp_path)
        except ToolchainError:
            refused += 1
        else:  # the time and the name in gzip's own header are under no checksum, and nobody reads them
            assert (tmp_path / "bin" / "pulumi").read_bytes() == text
    assert refused > 0.95 * len(spoilt)
