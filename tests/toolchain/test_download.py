"""Downloads of official releases from a simulated internet: complete, damaged, missing, interrupted."""

from __future__ import annotations

import dataclasses
import io
import platform
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.toolchain import official
from tests.toolchain.internet import Answer, Internet, Request, archive, module, sha256
from tests.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain import ensure, ensure_addons, ensure_control_plane, ensure_pulumi
from trainform.toolchain.addons import KUBE_SCHEDULER, addon_folder
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.download import download, run_in_parallel
from trainform.toolchain.locations import locations
from trainform.toolchain.parts import CONTROL_PLANE_PARTS
from trainform.toolchain.receipts import read_receipts
from trainform.toolchain.releases import ARCHIVE, RELEASES, Release
from trainform.toolchain.resolving import resolve_release
from trainform.toolchain.unpacking import extract
from trainform.toolchain.web import Limits, Web

QUICK = Limits(first_answer=60.0, stall=60.0, pause=0.0)
CONTROL_PLANE = {part.folder: RELEASES[part.folder] for part in CONTROL_PLANE_PARTS}
# In a process of its own, on the machine for which the releases are made.
MACHINE = """
import platform, sys
from pathlib import Path
platform.system, platform.machine = lambda: "Linux", lambda: "x86_64"
"""
ENSURE = (
    MACHINE
    + """
from trainform.toolchain import ensure_control_plane
ensure_control_plane(pins=Path(sys.argv[1]))
"""
)
COMMAND = (
    MACHINE
    + """
from trainform.cli.main import main
sys.argv[1:] = ["toolchain", "ensure", "--pulumi-only"]
sys.exit(main())
"""
)


@pytest.fixture
def copy(tmp_path: Path, internet: Internet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pins that fit the published modules, on a machine for which everything is published. It has no Go: nothing can be built."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "download")
    pins = official.copy_of_pins(tmp_path / "copy")
    official.publish(internet, pins)
    return pins


def _output(binary: Path) -> str:
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout.strip()


def _rest(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_everything_is_downloaded_together_and_without_go(internet: Internet, copy: Path) -> None:
    progress = Recording()
    made = ensure(progress, copy)
    assert made.pulumi.origin == "download"
    assert (made.pulumi.home / "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes").is_file()
    assert _output(made.pulumi.bin / "pulumi-language-python") == "host"
    assert {name: _output(path) for name, path in made.control_plane.binaries.items()} == {
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
    assert _rest(toolchain_folder(copy)) == {"lock", "pulumi-download", "controlplane-download", "kwok-download"}
    title = next(line for line in progress.lines if line.startswith("downloading"))
    assert title == "downloading up to 0 MB in 11 files, in parallel"
    for name in ("pulumi", "controlplane", "kwok"):
        assert f"{name}: downloaded, hashes verified" in progress.lines
    asked = len(internet.requests)
    again = Recording()
    assert ensure(again, copy) == made
    assert again.lines == []
    assert len(internet.requests) == asked


def test_received_bytes_and_remaining_time_are_shown_during_a_slow_download(internet: Internet, copy: Path) -> None:
    whole, progress = internet.sites[FINAL["kube-apiserver"]], Recording()
    assert isinstance(whole, Answer)

    def slow(request: Request) -> Answer:
        end = time.monotonic() + 60
        while request.method == "GET" and not any(progress.estimates) and time.monotonic() < end:
            time.sleep(0.02)
        return whole

    internet.sites[FINAL["kube-apiserver"]] = slow
    ensure_control_plane(progress, copy)
    assert "downloading: 0 MB of up to 0 MB" in progress.lines
    left = next(estimate for estimate in progress.estimates if estimate)
    assert 0 < left < 60


def test_each_file_is_downloaded_once_and_only_the_needed_layers_of_an_image(internet: Internet, copy: Path) -> None:
    ensure_control_plane(SILENT, copy)
    assert len(internet.asked(official.ETCD_ARCHIVE)) == 1
    assert len(internet.asked(official.VOLCANO_ZIP)) == 1
    alpine, daemon, script = official.volcano_layers("webhook-manager")
    storage = f"https://{official.DOCKER_STORAGE}"
    assert [len(internet.asked(f"{storage}/{sha256(layer)}")) for layer in (script, daemon, alpine)] == [1, 1, 0]
    assert all("Authorization" not in request.headers for request in internet.requests if storage in request.url)


def test_receipts_have_the_url_and_the_published_hash_of_each_file(internet: Internet, copy: Path) -> None:
    del internet.sites[official.PLUGIN_SUMS]
    progress = Recording()
    ensure(progress, copy)
    folder = toolchain_folder(copy)
    receipts = {name: read_receipts(folder / f"{name}-download") for name in ("pulumi", "controlplane", "kwok")}
    rows = {receipt.name: receipt for found in receipts.values() if found is not None for receipt in found}
    assert {name: receipt.checked for name, receipt in rows.items()} == {
        "pulumi 3.259.0": official.SDK_SUMS,
        "pulumi-kubernetes 4.25.0": None,
        "etcd 3.6.4": official.ETCD_SUMS,
        "kube-apiserver 1.34.4": f"{official.KUBERNETES}/kube-apiserver.sha256",
        "kube-controller-manager 1.34.4": f"{official.KUBERNETES}/kube-controller-manager.sha256",
        "vc-controller-manager 1.14.1": "the digests of the image",
        "vc-scheduler 1.14.1": "the digests of the image",
        "vc-webhook-manager 1.14.1": "the digests of the image",
        "files of volcano.sh/volcano 1.14.1": "go.sum of the pins",
        "kwok 0.8.0": "the digests of the image",
        "files of sigs.k8s.io/kwok 0.8.0": "go.sum of the pins",
    }
    api_server = (folder / "controlplane-download/bin/kube-apiserver").read_bytes()
    assert rows["kube-apiserver 1.34.4"].sha256 == sha256(api_server)
    assert "pulumi: downloaded, not verified: pulumi-kubernetes 4.25.0" in progress.lines


def test_locations_say_where_each_program_comes_from(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(SILENT, copy)
    toolchain_folder(copy).rename(toolchain_folder())  # `where` asks for the pins of the project
    places = dict(locations())
    folder = toolchain_folder()
    assert places["pulumi"] == f"{folder / 'pulumi-download/bin/pulumi'} (downloaded, hashes verified)"
    assert places["kwok"] == f"{folder / 'kwok-download/bin/kwok'} (downloaded, hashes verified)"
    (folder / "kwok-download" / "download.json").write_text("{")
    assert dict(locations())["kwok"].endswith("(downloaded, not verified)")
    (folder / "kwok").mkdir()
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "build")
    assert dict(locations())["kwok"] == f"{folder / 'kwok/bin/kwok'} (built)"
    assert dict(locations())["kube-apiserver"].startswith("not installed yet")


def test_an_add_on_that_has_a_release_is_downloaded(copy: Path) -> None:
    progress = Recording()
    built = ensure_addons([KUBE_SCHEDULER], progress, copy)
    assert _output(built["kube-scheduler"].binary("kube-scheduler")) == "kube-scheduler"
    assert "kube-scheduler: downloaded, hashes verified" in progress.lines
    assert _rest(addon_folder(KUBE_SCHEDULER, copy)) == {"lock", "kube-scheduler-download"}
    again = Recording()
    assert ensure_addons([KUBE_SCHEDULER], again, copy) == built
    assert again.lines == []


def test_an_image_without_an_index_is_used_if_it_is_for_this_machine(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(
        internet, "volcanosh/vc-scheduler", "v1.14.1", layers, plain=True, platforms=[("linux", "amd64")]
    )
    assert _output(ensure_control_plane(SILENT, copy).binaries["scheduler"]) == "vc-scheduler"


def _html(content: bytes) -> bytes:
    return b"<html>Please log in to the network</html>"


def _cut(content: bytes) -> bytes:
    return content[:-20]


def _other(content: bytes) -> bytes:
    return archive(
        {"pulumi/pulumi": official.PULUMI, "etcd-v3.6.4-linux-amd64/etcd": b"#", "pulumi-resource-kubernetes": b"#"}
    )


FINAL = {
    "sdk": official.SDK_ARCHIVE,
    "plugin": f"{official.GITHUB_STORAGE}/{sha256(official.PLUGIN_ARCHIVE.encode())}?sig=x",
    "etcd": f"{official.GITHUB_STORAGE}/{sha256(official.ETCD_ARCHIVE.encode())}?sig=x",
    "kube-apiserver": f"{official.KUBERNETES}/kube-apiserver".replace("dl.", "cdn.dl."),
    "volcano": official.VOLCANO_ZIP,
}


def _change(internet: Internet, url: str, change: Callable[[bytes], bytes]) -> None:
    answer = internet.sites[url]
    assert isinstance(answer, Answer)
    internet.sites[url] = dataclasses.replace(answer, body=change(answer.body))


@pytest.mark.parametrize("change", [_html, _cut, _other])
@pytest.mark.parametrize("name", FINAL)
def test_a_file_with_a_wrong_hash_is_not_used(
    internet: Internet, copy: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    _change(internet, FINAL[name], change)
    with pytest.raises(ToolchainError) as caught:
        ensure(SILENT, copy)
    reason = "is damaged: File is not a zip file" if name == "volcano" else "has the SHA-256"
    assert reason in caught.value.message
    folder = toolchain_folder(copy)
    broken = "pulumi-download" if name in ("sdk", "plugin") else "controlplane-download"
    assert not (folder / broken).exists()
    assert (folder / "kwok-download").is_dir(), "what is whole stays"
    assert not list(folder.glob(".*"))


def test_a_file_without_a_published_hash_must_be_intact(internet: Internet, copy: Path) -> None:
    del internet.sites[official.SDK_SUMS]
    whole = internet.sites[official.SDK_ARCHIVE]
    _change(internet, official.SDK_ARCHIVE, lambda content: content[:-4] + b"\0\0\0\0")
    with pytest.raises(ToolchainError, match=f"{official.SDK_ARCHIVE} is damaged"):
        ensure_pulumi(SILENT, copy)
    internet.sites[official.SDK_ARCHIVE] = whole
    assert ensure_pulumi(SILENT, copy).origin == "download", "the broken file was kept"


def test_a_module_that_is_not_the_pinned_one_is_not_used(internet: Internet, copy: Path) -> None:
    content, _ = module("volcano.sh/volcano", "1.14.1", {**official.VOLCANO_FILES, "LICENSE": b"another"})
    internet.sites[official.VOLCANO_ZIP] = Answer(content)
    with pytest.raises(ToolchainError, match=r"v1\.14\.1\.zip has the hash h1:.*, but the pins say h1:"):
        ensure_control_plane(SILENT, copy)


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        (b"<html>Log in</html>", "is a web page, not a list of checksums"),
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


@pytest.mark.parametrize(
    ("url", "beside"),
    [
        (official.SDK_ARCHIVE, official.PLUGIN_ARCHIVE),
        (official.VOLCANO_ZIP, official.ETCD_ARCHIVE),
        (f"{official.KUBERNETES}/kube-apiserver", official.VOLCANO_ZIP),
    ],
)
def test_a_missing_release_is_reported_before_the_others_are_downloaded(
    internet: Internet, copy: Path, url: str, beside: str
) -> None:
    del internet.sites[url]
    with pytest.raises(ToolchainError, match=f"{url}: 404 "):
        ensure(SILENT, copy)
    assert internet.asked(beside, "HEAD")
    assert not internet.asked(beside)


def test_a_file_of_unknown_size_is_downloaded(internet: Internet, copy: Path) -> None:
    whole = internet.sites[official.SDK_ARCHIVE]
    assert isinstance(whole, Answer)
    internet.sites[official.SDK_ARCHIVE] = lambda request: whole if request.method == "GET" else Answer(status=405)
    progress = Recording()
    assert ensure_pulumi(progress, copy).origin == "download"
    assert any(line.startswith("downloading more than 0 MB in 2 files") for line in progress.lines)


def test_an_image_without_this_platform_is_reported(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=[("linux", "s390x")])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 has no image for linux on amd64"):
        ensure_control_plane(SILENT, copy)


def test_an_image_of_another_platform_is_reported(internet: Internet, copy: Path) -> None:
    layers = official.volcano_layers("scheduler")
    official.publish_image(
        internet, "volcanosh/vc-scheduler", "v1.14.1", layers, plain=True, platforms=[("linux", "arm64")]
    )
    with pytest.raises(ToolchainError, match="is an image for linux on arm64, not for linux on amd64"):
        ensure_control_plane(SILENT, copy)


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ({".wh.vc-scheduler": b""}, False),
        ({".wh..wh..opq": b""}, False),
        ({"vc-scheduler/": b""}, False),
        ({".wh.vc-scheduler": b"", "vc-scheduler": official.program("the upper one")}, True),
        ({"vc-scheduler": official.program("the upper one")}, True),
    ],
)
def test_an_upper_layer_hides_the_lower_ones(
    internet: Internet, copy: Path, above: dict[str, bytes], found: bool
) -> None:
    layers = [*official.volcano_layers("scheduler"), archive(above)]
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", layers)
    if found:
        assert _output(ensure_control_plane(SILENT, copy).binaries["scheduler"]) == "the upper one"
    else:
        with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 does not contain vc-scheduler"):
            ensure_control_plane(SILENT, copy)


def test_an_image_without_the_program_is_reported(internet: Internet, copy: Path) -> None:
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", [archive({"bin/sh": b"alpine"})])
    with pytest.raises(ToolchainError, match=r"vc-scheduler/manifests/v1\.14\.1 does not contain vc-scheduler"):
        ensure_control_plane(SILENT, copy)


def test_a_forbidden_checksum_is_an_error_and_not_treated_as_missing(internet: Internet, copy: Path) -> None:
    internet.sites[official.SDK_SUMS] = Answer(status=403)
    with pytest.raises(ToolchainError, match=f"{official.SDK_SUMS}: 403 Forbidden"):
        ensure_pulumi(SILENT, copy)


REPOSITORY = "https://registry-1.docker.io/v2/volcanosh/vc-scheduler"


@pytest.mark.parametrize("what", ["index", "manifest", "configuration", "layer"])
def test_no_part_of_an_image_may_differ_from_its_digest(internet: Internet, copy: Path, what: str) -> None:
    layers, platforms = official.volcano_layers("scheduler"), [("linux", "amd64")]
    before = set(internet.sites)
    _, layer, configuration = official.publish_image(
        internet, "volcanosh/vc-scheduler", "v1.14.1", layers, platforms=platforms
    )
    manifest = next(url for url in internet.sites if url.startswith(f"{REPOSITORY}/manifests/sha256:"))
    assert manifest in before, "the same image again"
    url = {
        "index": f"{REPOSITORY}/manifests/v1.14.1",
        "manifest": manifest,
        "configuration": configuration,
        "layer": layer,
    }[what]
    site = internet.sites[url]
    internet.sites[url] = lambda request: _longer(site if isinstance(site, Answer) else site(request))
    with pytest.raises(ToolchainError, match=r"does not match its digest|has the SHA-256"):
        ensure_control_plane(SILENT, copy)


def _longer(answer: Answer) -> Answer:
    return dataclasses.replace(answer, body=answer.body + b" ") if answer.status == 200 else answer


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


def test_a_pulumi_of_another_version_is_not_used(internet: Internet, copy: Path) -> None:
    official.publish_pulumi(internet, official.PULUMI.replace(b"3.259", b"3.100"))
    with pytest.raises(ToolchainError, match=r"the version of pulumi is v3\.100\.0"):
        ensure_pulumi(SILENT, copy)
    assert _rest(toolchain_folder(copy)) == {"lock", "downloads"}


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


def test_a_link_in_the_place_of_a_program_is_reported(internet: Internet, copy: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as content:
        member = tarfile.TarInfo("vc-scheduler")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        content.addfile(member)
    official.publish_image(internet, "volcanosh/vc-scheduler", "v1.14.1", [file.getvalue()])
    with pytest.raises(ToolchainError, match=r"vc-scheduler in https://.* is a link"):
        ensure_control_plane(SILENT, copy)


def test_a_failed_file_cancels_the_other_files_of_its_part_only(internet: Internet, copy: Path, cache: Path) -> None:
    internet.sites[FINAL["kube-apiserver"]] = Answer(official.program("x"), cut=100)
    found = download(CONTROL_PLANE, cache, SILENT, copy, Web(QUICK))
    assert isinstance(found["controlplane"], ToolchainError)
    assert "ended after 100 of" in found["controlplane"].message
    assert isinstance(found["kwok"], Path)


def test_a_user_without_a_proxy_for_modules_gets_the_rest(
    internet: Internet, copy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    found = download({**CONTROL_PLANE, "pulumi": RELEASES["pulumi"]}, cache, SILENT, copy)
    assert isinstance(found["pulumi"], Path)
    for name in CONTROL_PLANE:
        assert "GOPROXY does not begin with the URL of a module proxy" in str(found[name])


def test_the_password_of_a_module_proxy_is_sent_only_to_it_and_not_stored(
    internet: Internet, copy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "https://user:hidden@modules.example.com/go,direct")
    progress = Recording()
    for url in (official.VOLCANO_ZIP, official.KWOK_ZIP):
        internet.sites[url.replace("https://modules.example.org", "https://modules.example.com/go")] = internet.sites[
            url
        ]
    found = download(CONTROL_PLANE, cache, progress, copy)
    folder = found["kwok"]
    assert isinstance(folder, Path)
    asked = [request for request in internet.requests if "modules.example.com" in request.url]
    assert {request.headers.get("Authorization") for request in asked} == {"Basic dXNlcjpoaWRkZW4="}
    assert "modules.example.com/go/sigs.k8s.io/kwok" in (folder / "download.json").read_text()
    assert "hidden" not in (folder / "download.json").read_text() + progress.text


def test_temporary_errors_do_not_end_a_download(internet: Internet, copy: Path, cache: Path) -> None:
    """A cut and overloaded servers, each at another file."""
    _trouble(internet, FINAL["kube-apiserver"], Answer(b"x" * 1000, cut=10))
    _trouble(internet, official.VOLCANO_ZIP, Answer(status=503))
    _trouble(internet, FINAL["etcd"], Answer(status=500))
    found = download(CONTROL_PLANE, cache, SILENT, copy, Web(QUICK))
    assert not [error for error in found.values() if isinstance(error, ToolchainError)]
    assert len(internet.asked(FINAL["kube-apiserver"])) == 2


def _trouble(internet: Internet, url: str, first: Answer) -> None:
    """The first time that somebody wants the file."""
    whole, answers = internet.sites[url], [first]
    assert isinstance(whole, Answer)
    internet.sites[url] = lambda request: answers.pop() if answers and request.method == "GET" else whole


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
    assert _rest(folder) == {"lock", "controlplane-download", "kwok-download"}


def test_a_complete_file_that_was_changed_is_downloaded_again(internet: Internet, copy: Path) -> None:
    arrived = toolchain_folder(copy) / "downloads"
    arrived.mkdir(parents=True)
    content = internet.sites[FINAL["kube-apiserver"]]
    assert isinstance(content, Answer)
    (arrived / sha256(content.body)).write_bytes(b"something else")
    assert _output(ensure_control_plane(SILENT, copy).binaries["kube-apiserver"]) == "kube-apiserver"


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


def test_a_second_process_waits_and_uses_the_result_of_the_first(internet: Internet, copy: Path) -> None:
    command = [sys.executable, "-c", ENSURE, str(copy)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    assert len(internet.asked(official.VOLCANO_ZIP)) == 1


def test_toolchain_ensure_downloads_without_go_and_says_so(internet: Internet, copy: Path) -> None:
    made = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "pulumi: downloaded, hashes verified" in made.stderr
    assert "(download)" in made.stderr


def test_run_in_parallel_raises_other_errors_at_once() -> None:
    over = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            raise OSError("no space left on device")
        over.wait()
        return number

    with pytest.raises(OSError, match="no space left"):
        run_in_parallel(work, [0, 1], lambda: None)
    over.set()


def test_run_in_parallel_returns_results_and_toolchain_errors_in_order() -> None:
    error = ToolchainError("x")

    def work(number: int) -> int:
        if number == 1:
            raise error
        return number * 10

    assert run_in_parallel(work, [0, 1, 2], lambda: None) == [0, error, 20]
    assert run_in_parallel(work, [], lambda: None) == []
