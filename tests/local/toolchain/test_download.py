"""Downloads of official releases from a simulated internet: complete, damaged, missing, interrupted."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.downloads import COMMAND, CONTROL_PLANE, FINAL, names_in, output_of
from tests.local.toolchain.internet import Answer, Internet, Request, sha256
from tests.local.toolchain.recording import Recording
from trainform.console.progress import SILENT
from trainform.local.toolchain.addons import KUBE_SCHEDULER, addon_folder, ensure_addons
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.download import download
from trainform.local.toolchain.ensure import ensure, ensure_control_plane
from trainform.local.toolchain.releases import RELEASES


def test_everything_is_downloaded_together_and_without_go(internet: Internet, copy: Path) -> None:
    progress = Recording()
    made = ensure(progress, copy)
    assert made.pulumi.origin == "download"
    assert (made.pulumi.home / "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes").is_file()
    assert output_of(made.pulumi.bin / "pulumi-language-python") == "host"
    assert {name: output_of(path) for name, path in made.control_plane.binaries.items()} == {
        "server": "etcd",
        "kube-apiserver": "kube-apiserver",
        "kube-controller-manager": "kube-controller-manager",
        "controller-manager": "vc-controller-manager",
        "scheduler": "vc-scheduler",
        "webhook-manager": "vc-webhook-manager",
        "kwok": "kwok",
    }
    crds = {path.name: path.read_bytes() for path in made.control_plane.crds}
    assert crds == {"batch.volcano.sh_jobs.yaml": b"jobs\n", "flow.volcano.sh_jobflows.yaml": b"jobflows\n"}
    assert [path.name for path in made.control_plane.stages] == [
        "node-heartbeat-with-lease.yaml", "node-initialize.yaml", "pod-delete.yaml", "pod-ready.yaml",
    ]  # fmt: skip
    assert names_in(toolchain_folder(copy)) == {"lock", "pulumi-download", "controlplane-download", "kwok-download"}
    title = next(line for line in progress.lines if line.startswith("downloading"))
    assert title == "downloading 11 files, in parallel"
    for name in ("pulumi", "controlplane", "kwok"):
        assert f"{name}: downloaded, hashes verified" in progress.lines
    asked = len(internet.requests)
    again = Recording()
    assert ensure(again, copy) == made
    assert again.lines == []
    assert len(internet.requests) == asked


def test_received_bytes_are_shown_during_a_slow_download(internet: Internet, copy: Path) -> None:
    whole, progress = internet.sites[FINAL["kube-apiserver"]], Recording()
    assert isinstance(whole, Answer)

    def slow(request: Request) -> Answer:
        end = time.monotonic() + 60
        while (
            request.method == "GET"
            and not any("downloading: " in line for line in progress.lines)
            and time.monotonic() < end
        ):
            time.sleep(0.02)
        return whole

    internet.sites[FINAL["kube-apiserver"]] = slow
    ensure_control_plane(progress, copy)
    assert "downloading: 0 MB" in progress.lines


def test_each_file_is_downloaded_once_and_only_the_needed_layers_of_an_image(internet: Internet, copy: Path) -> None:
    ensure_control_plane(SILENT, copy)
    assert len(internet.asked(official.ETCD_ARCHIVE)) == 1
    assert len(internet.asked(official.VOLCANO_ZIP)) == 1
    alpine, daemon, script = official.volcano_layers("webhook-manager")
    storage = f"https://{official.DOCKER_STORAGE}"
    assert [len(internet.asked(f"{storage}/{sha256(layer)}")) for layer in (script, daemon, alpine)] == [1, 1, 0]
    assert all("Authorization" not in request.headers for request in internet.requests if storage in request.url)


def test_an_add_on_that_has_a_release_is_downloaded(copy: Path) -> None:
    progress = Recording()
    built = ensure_addons([KUBE_SCHEDULER], progress, copy)
    assert output_of(built["kube-scheduler"].binary("kube-scheduler")) == "kube-scheduler"
    assert "kube-scheduler: downloaded, hashes verified" in progress.lines
    assert names_in(addon_folder(KUBE_SCHEDULER, copy)) == {"lock", "kube-scheduler-download"}
    again = Recording()
    assert ensure_addons([KUBE_SCHEDULER], again, copy) == built
    assert again.lines == []


def test_a_user_without_a_proxy_for_modules_gets_the_rest(
    internet: Internet, copy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    found = download({**CONTROL_PLANE, "pulumi": RELEASES["pulumi"]}, cache, SILENT, copy)
    assert isinstance(found["pulumi"], Path)
    for name in CONTROL_PLANE:
        assert "GOPROXY does not begin with the URL of a module proxy without a password" in str(found[name])


def test_toolchain_ensure_downloads_without_go_and_says_so(internet: Internet, copy: Path) -> None:
    made = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "pulumi: downloaded, hashes verified" in made.stderr
    assert "(download)" in made.stderr
