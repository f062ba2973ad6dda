"""Programs from the layers of published images."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Answer, Internet
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.ensure import ensure_control_plane


def test_an_image_without_this_platform_is_reported(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=[("linux", "s390x")])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 has no image for linux on amd64"):
        ensure_control_plane(SILENT, copy)


REPOSITORY = "https://registry-1.docker.io/v2/volcanosh/vc-scheduler"


@pytest.mark.parametrize("what", ["manifest", "layer"])
def test_no_part_of_an_image_may_differ_from_its_digest(internet: Internet, copy: Path, what: str) -> None:
    layers, platforms = official.volcano_layers("scheduler"), [("linux", "amd64")]
    before = set(internet.sites)
    _, layer, _ = official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=platforms)
    manifest = next(url for url in internet.sites if url.startswith(f"{REPOSITORY}/manifests/sha256:"))
    assert manifest in before, "the same image again"
    url = {"manifest": manifest, "layer": layer}[what]
    site = internet.sites[url]
    internet.sites[url] = lambda request: _longer(site if isinstance(site, Answer) else site(request))
    with pytest.raises(ToolchainError, match=r"does not match its digest|has the SHA-256"):
        ensure_control_plane(SILENT, copy)


def _longer(answer: Answer) -> Answer:
    return dataclasses.replace(answer, body=answer.body + b" ") if answer.status == 200 else answer
