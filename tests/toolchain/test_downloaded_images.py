"""Programs from the layers of published images."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.toolchain import official
from tests.toolchain.downloads import output_of
from tests.toolchain.internet import Answer, Internet, archive
from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain import ensure_control_plane


def test_an_image_without_an_index_is_used_if_it_is_for_this_machine(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(
        internet, "volcanosh/vc-scheduler", "v1.14.1", layers, plain=True, platforms=[("linux", "amd64")]
    )
    assert output_of(ensure_control_plane(SILENT, copy).binaries["scheduler"]) == "vc-scheduler"


def test_an_image_without_this_platform_is_reported(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=[("linux", "s390x")])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 has no image for linux on amd64"):
        ensure_control_plane(SILENT, copy)


def test_an_upper_layer_hides_the_lower_ones(internet: Internet, copy: Path) -> None:
    layers = [*official.volcano_layers("scheduler"), archive({"./vc-scheduler": official.program("the upper one")})]
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers)
    assert output_of(ensure_control_plane(SILENT, copy).binaries["scheduler"]) == "the upper one"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"layers": 1}', b'{"layers": [{"digest": "sha256:.."}]}'])
def test_a_response_that_is_no_manifest_is_reported(internet: Internet, copy: Path, body: bytes) -> None:
    internet.sites[f"{REPOSITORY}/manifests/v1.14.1"] = Answer(body)
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 is not an image manifest"):
        ensure_control_plane(SILENT, copy)


def test_an_image_without_the_program_is_reported(internet: Internet, copy: Path) -> None:
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", [archive({"bin/sh": b"alpine"})])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 does not contain vc-scheduler"):
        ensure_control_plane(SILENT, copy)


REPOSITORY = "https://registry-1.docker.io/v2/volcanosh/vc-scheduler"


@pytest.mark.parametrize("what", ["manifest", "layer"])
def test_no_part_of_an_image_may_differ_from_its_digest(internet: Internet, copy: Path, what: str) -> None:
    layers, platforms = official.volcano_layers("scheduler"), [("linux", "amd64")]
    before = set(internet.sites)
    _, layer, _ = official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=platforms)
    manifest = next(url for url in internet.sites if url.startswith(f"{REPOSITORY}/manifests/sha256:"))
    assert manifest in before, "the same image again"
    url = {
        "manifest": manifest,
        "layer": layer,
    }[what]
    site = internet.sites[url]
    internet.sites[url] = lambda request: _longer(site if isinstance(site, Answer) else site(request))
    with pytest.raises(ToolchainError, match=r"does not match its digest|has the SHA-256"):
        ensure_control_plane(SILENT, copy)


def _longer(answer: Answer) -> Answer:
    return dataclasses.replace(answer, body=answer.body + b" ") if answer.status == 200 else answer
