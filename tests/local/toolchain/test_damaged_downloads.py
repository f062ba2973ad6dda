"""Downloads that are damaged, of another version or missing: reported, and never used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.downloads import FINAL, change_file
from tests.local.toolchain.internet import Answer, Internet, archive, module
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.ensure import ensure, ensure_control_plane, ensure_pulumi


def _html(content: bytes) -> bytes:
    return b"<html>Please log in to the network</html>"


def _cut(content: bytes) -> bytes:
    return content[:-20]


def _other(content: bytes) -> bytes:
    return archive(
        {"pulumi/pulumi": official.PULUMI, "etcd-v3.6.4-linux-amd64/etcd": b"#", "pulumi-resource-kubernetes": b"#"}
    )


@pytest.mark.parametrize("change", [_html, _cut, _other])
@pytest.mark.parametrize("name", FINAL)
def test_a_file_with_a_wrong_hash_is_not_used(
    internet: Internet, copy: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    change_file(internet, FINAL[name], change)
    with pytest.raises(ToolchainError) as caught:
        ensure(SILENT, copy)
    reason = "is damaged: File is not a zip file" if name == "volcano" else "has the SHA-256"
    assert reason in caught.value.message
    folder = toolchain_folder(copy)
    broken = "pulumi-download" if name in ("sdk", "plugin") else "controlplane-download"
    assert not (folder / broken).exists()
    assert (folder / "kwok-download").is_dir(), "what is whole stays"
    assert not list(folder.glob(".*"))


def test_a_file_without_a_published_hash_is_not_used(internet: Internet, copy: Path) -> None:
    del internet.sites[official.SDK_SUMS]
    with pytest.raises(ToolchainError, match=f"{official.SDK_SUMS}: 404 "):
        ensure_pulumi(SILENT, copy)


def test_a_module_that_is_not_the_pinned_one_is_not_used(internet: Internet, copy: Path) -> None:
    content, _ = module("volcano.sh/volcano", "1.14.1", {**official.VOLCANO_FILES, "LICENSE": b"another"})
    internet.sites[official.VOLCANO_ZIP] = Answer(content)
    with pytest.raises(ToolchainError, match=r"v1\.14\.1\.zip has the hash h1:.*, but the pins say h1:"):
        ensure_control_plane(SILENT, copy)


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        (b"<html>Log in</html>", "has no checksum for pulumi-v3.259.0-linux-x64.tar.gz"),
        (b"", "has no checksum for pulumi-v3.259.0-linux-x64.tar.gz"),
        (b"0" * 64, "has the SHA-256"),
    ],
)
def test_an_invalid_checksum_is_an_error_and_not_treated_as_missing(
    internet: Internet, copy: Path, sums: bytes, reason: str
) -> None:
    internet.sites[official.SDK_SUMS] = Answer(sums)
    with pytest.raises(ToolchainError, match=reason):
        ensure_pulumi(SILENT, copy)
