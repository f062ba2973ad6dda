"""Downloads that are cut, killed or run twice: what is whole stays, and only the rest is downloaded."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.local.toolchain import official
from tests.local.toolchain.downloads import CONTROL_PLANE, ENSURE, FINAL, QUICK, names_in, output_of
from tests.local.toolchain.internet import Answer, Internet, sha256
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.download import download
from trainform.local.toolchain.ensure import ensure_control_plane
from trainform.local.toolchain.web import Web


def test_a_failed_file_fails_its_part_only(internet: Internet, copy: Path, cache: Path) -> None:
    internet.sites[FINAL["kube-apiserver"]] = Answer(official.program("x"), cut=100)
    found = download(CONTROL_PLANE, cache, SILENT, copy, Web(QUICK))
    assert isinstance(found["controlplane"], ToolchainError)
    assert "received 100 bytes" in found["controlplane"].message
    assert isinstance(found["kwok"], Path)


def test_after_a_killed_download_only_the_rest_is_downloaded(internet: Internet, copy: Path) -> None:
    url = f"{official.KUBERNETES}/kube-controller-manager"
    storage = url.replace("dl.", "cdn.dl.")
    whole = internet.sites[storage]
    assert isinstance(whole, Answer)
    internet.sites[storage] = lambda request: (
        whole if request.method == "HEAD" else dataclasses.replace(whole, stall=100)
    )
    process = subprocess.Popen([sys.executable, "-c", ENSURE, copy], stderr=subprocess.PIPE)
    folder = toolchain_folder(copy)
    end = time.monotonic() + 60
    while len(list(folder.glob("downloads/*"))) < 9:  # all but that one
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert not (folder / "controlplane-download").exists()
    assert list(folder.glob(".*.partial")), "the test killed too early"
    internet.sites[storage] = whole
    before = list(internet.requests)
    ensure_control_plane(SILENT, copy)
    again = [request.url for request in internet.requests[len(before) :] if request.method == "GET"]
    assert storage in again
    assert f"{official.KUBERNETES}/kube-apiserver".replace("dl.", "cdn.dl.") not in again
    assert official.VOLCANO_ZIP not in again
    assert names_in(folder) == {"lock", "controlplane-download", "kwok-download"}


def test_a_complete_file_that_was_changed_is_downloaded_again(internet: Internet, copy: Path) -> None:
    arrived = toolchain_folder(copy) / "downloads"
    arrived.mkdir(parents=True)
    content = internet.sites[FINAL["kube-apiserver"]]
    assert isinstance(content, Answer)
    (arrived / sha256(content.body)).write_bytes(b"something else")
    assert output_of(ensure_control_plane(SILENT, copy).binaries["kube-apiserver"]) == "kube-apiserver"


def test_an_interrupt_does_not_wait_for_a_server(internet: Internet, copy: Path) -> None:
    storage = FINAL["kube-apiserver"]
    whole = internet.sites[storage]
    assert isinstance(whole, Answer)
    internet.sites[storage] = lambda request: (
        whole if request.method == "HEAD" else dataclasses.replace(whole, stall=100)
    )
    process = subprocess.Popen([sys.executable, "-c", ENSURE, copy], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not internet.asked(storage):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)  # the server would be given up after 30 s, three times
    assert process.returncode != 0
