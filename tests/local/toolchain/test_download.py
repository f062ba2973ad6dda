"""Downloads of official releases from a simulated internet: complete, cut, killed, and run twice."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Answer, Internet, Request, sha256
from tests.local.toolchain.official import FINAL, names_in, output_of
from tests.local.toolchain.recording import Recording
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.addons import KUBE_SCHEDULER, addon_folder, ensure_addons
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.download import download
from trainform.local.toolchain.ensure import ensure
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS
from trainform.local.toolchain.releases import RELEASES
from trainform.local.toolchain.web import Limits, Web

CONTROL_PLANE = {part.folder: RELEASES[part.folder] for part in CONTROL_PLANE_PARTS}
# In a process of its own, on the machine for which the releases are made.
MACHINE = """
import platform, sys
from pathlib import Path
platform.system, platform.machine = lambda: "Linux", lambda: "x86_64"
"""
ENSURE = f"""{MACHINE}
from trainform.local.toolchain.ensure import ensure
ensure(pins=Path(sys.argv[1]))
"""
COMMAND = f"""{MACHINE}
from trainform.cli.main import main
sys.argv[1:] = ["toolchain", "ensure", "--pulumi-only"]
sys.exit(main())
"""


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
        while not any("downloading: " in line for line in progress.lines) and time.monotonic() < end:
            time.sleep(0.02)
        return whole

    internet.sites[FINAL["kube-apiserver"]] = slow
    ensure(progress, copy)
    assert "downloading: 0 MB" in progress.lines


def test_each_file_is_downloaded_once_and_only_the_needed_layers_of_an_image(internet: Internet, copy: Path) -> None:
    ensure(SILENT, copy)
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


def test_a_failed_file_fails_its_part_only(internet: Internet, copy: Path, cache: Path) -> None:
    internet.sites[FINAL["kube-apiserver"]] = Answer(official.program("x"), cut=100)
    found = download(CONTROL_PLANE, cache, SILENT, copy, Web(Limits(pause=0.0)))
    assert isinstance(found["controlplane"], ToolchainError)
    assert "received 100 bytes" in found["controlplane"].message
    assert isinstance(found["kwok"], Path)


def test_after_a_killed_download_only_the_rest_is_downloaded(internet: Internet, copy: Path) -> None:
    url = f"{official.KUBERNETES}/kube-controller-manager"
    storage = url.replace("dl.", "cdn.dl.")
    whole = internet.sites[storage]
    assert isinstance(whole, Answer)
    internet.sites[storage] = dataclasses.replace(whole, stall=100)
    process = subprocess.Popen([sys.executable, "-c", ENSURE, copy], stderr=subprocess.PIPE)
    folder = toolchain_folder(copy)
    end = time.monotonic() + 60
    while len(list(folder.glob("downloads/*"))) < 11:  # all but that one
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert not (folder / "controlplane-download").exists()
    assert list(folder.glob(".*.partial")), "the test killed too early"
    internet.sites[storage] = whole
    before = list(internet.requests)
    ensure(SILENT, copy)
    again = [request.url for request in internet.requests[len(before) :]]
    assert storage in again
    assert f"{official.KUBERNETES}/kube-apiserver".replace("dl.", "cdn.dl.") not in again
    assert official.VOLCANO_ZIP not in again
    assert names_in(folder) == {"lock", "controlplane-download", "kwok-download", "pulumi-download"}


def test_a_complete_file_that_was_changed_is_downloaded_again(internet: Internet, copy: Path) -> None:
    arrived = toolchain_folder(copy) / "downloads"
    arrived.mkdir(parents=True)
    content = internet.sites[FINAL["kube-apiserver"]]
    assert isinstance(content, Answer)
    (arrived / sha256(content.body)).write_bytes(b"something else")
    assert output_of(ensure(SILENT, copy).control_plane.binaries["kube-apiserver"]) == "kube-apiserver"


def test_an_interrupt_does_not_wait_for_a_server(internet: Internet, copy: Path) -> None:
    storage = FINAL["kube-apiserver"]
    whole = internet.sites[storage]
    assert isinstance(whole, Answer)
    internet.sites[storage] = dataclasses.replace(whole, stall=100)
    process = subprocess.Popen([sys.executable, "-c", ENSURE, copy], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not internet.asked(storage):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)  # the server would be given up after 30 s, three times
    assert process.returncode != 0
