"""Downloads that are damaged, of another version or missing: reported, and never used."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Answer, Internet, archive, module
from tests.local.toolchain.official import FINAL, change_file
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.ensure import ensure, ensure_pulumi


def _html(content: bytes) -> bytes:
    return b"<html>Please log in to the network</html>"


def _cut(content: bytes) -> bytes:
    return content[:-20]


def _other(content: bytes) -> bytes:
    return archive(
        {
            "pulumi/pulumi": official.program("pulumi"),
            "etcd-v3.6.4-linux-amd64/etcd": b"#",
            "pulumi-resource-kubernetes": b"#",
        }
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
        ensure(SILENT, copy)


def test_an_invalid_checksum_is_an_error_and_not_treated_as_missing(internet: Internet, copy: Path) -> None:
    internet.sites[official.SDK_SUMS] = Answer(b"<html>Log in</html>")
    with pytest.raises(ToolchainError, match=r"has no checksum for pulumi-v3\.259\.0-linux-x64\.tar\.gz"):
        ensure_pulumi(SILENT, copy)


# --- images


def test_an_image_without_this_platform_is_reported(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=[("linux", "s390x")])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 has no image for linux on amd64"):
        ensure(SILENT, copy)


REPOSITORY = "https://registry-1.docker.io/v2/volcanosh/vc-scheduler"


@pytest.mark.parametrize("what", ["manifest", "layer"])
def test_no_part_of_an_image_may_differ_from_its_digest(internet: Internet, copy: Path, what: str) -> None:
    layers, platforms = official.volcano_layers("scheduler"), [("linux", "amd64")]
    before = set(internet.sites)
    _, layer = official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=platforms)
    manifest = next(url for url in internet.sites if url.startswith(f"{REPOSITORY}/manifests/sha256:"))
    assert manifest in before, "the same image again"
    url = {"manifest": manifest, "layer": layer}[what]
    site = internet.sites[url]
    internet.sites[url] = lambda request: _longer(site if isinstance(site, Answer) else site(request))
    with pytest.raises(ToolchainError, match=r"does not match its digest|has the SHA-256"):
        ensure(SILENT, copy)


def _longer(answer: Answer) -> Answer:
    return dataclasses.replace(answer, body=answer.body + b" ") if answer.status == 200 else answer


# --- archives


def test_an_archive_cannot_write_outside_of_its_folder(internet: Internet, copy: Path, tmp_path: Path) -> None:
    members = {
        "../../pulumi/evil": b"#",
        "/pulumi/evil2": b"#",
        "pulumi/pulumi": official.program("pulumi"),
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
