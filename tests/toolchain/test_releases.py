"""The table of releases: its URLs, and that a download contains the same files as a build."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from msgspec import structs

from trainform.errors import ToolchainError
from trainform.toolchain.addons import KUBE_SCHEDULER
from trainform.toolchain.parts import CONTROL_PLANE_PARTS, KUBERNETES_VERSION, PINS, Part
from trainform.toolchain.pinned import Module
from trainform.toolchain.releases import IMAGE, MODULE, RELEASES
from trainform.toolchain.resolving import ResolvedRelease, _default_proxies, module_proxy, resolve_release

PARTS = (*CONTROL_PLANE_PARTS, KUBE_SCHEDULER)
LINUX_AMD64 = {
    "pulumi": [
        "https://get.pulumi.com/releases/sdk/pulumi-v3.259.0-linux-x64.tar.gz",
        "https://get.pulumi.com/releases/sdk/pulumi-3.259.0-checksums.txt",
        "https://github.com/pulumi/pulumi-kubernetes/releases/download/v4.25.0/pulumi-resource-kubernetes-v4.25.0-linux-amd64.tar.gz",
        "https://github.com/pulumi/pulumi-kubernetes/releases/download/v4.25.0/pulumi-kubernetes_4.25.0_checksums.txt",
    ],
    "controlplane": [
        "https://github.com/etcd-io/etcd/releases/download/v3.6.4/etcd-v3.6.4-linux-amd64.tar.gz",
        "https://github.com/etcd-io/etcd/releases/download/v3.6.4/SHA256SUMS",
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-apiserver",
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-apiserver.sha256",
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-controller-manager",
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-controller-manager.sha256",
        "https://registry-1.docker.io/v2/volcanosh/vc-controller-manager/manifests/v1.14.1",
        "https://registry-1.docker.io/v2/volcanosh/vc-scheduler/manifests/v1.14.1",
        "https://registry-1.docker.io/v2/volcanosh/vc-webhook-manager/manifests/v1.14.1",
        "https://modules.example.org/volcano.sh/volcano/@v/v1.14.1.zip",
    ],
    "kwok": [
        "https://registry.k8s.io/v2/kwok/kwok/manifests/v0.8.0",
        "https://modules.example.org/sigs.k8s.io/kwok/@v/v0.8.0.zip",
    ],
    "kube-scheduler": [
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-scheduler",
        "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-scheduler.sha256",
    ],
}


@pytest.fixture(autouse=True)
def proxy_for_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "https://modules.example.org")


def _located(name: str, system: str = "Linux", machine: str = "x86_64") -> list[ResolvedRelease]:
    return [resolve_release(release, system, machine) for release in RELEASES[name]]


def _addresses(located: list[ResolvedRelease]) -> list[str]:
    return [address for release in located for address in (release.url, release.sums) if address is not None]


@pytest.mark.parametrize("name", LINUX_AMD64)
def test_every_url_in_full(name: str) -> None:
    assert _addresses(_located(name)) == LINUX_AMD64[name]


def test_every_release_has_its_url_in_this_test() -> None:
    assert list(LINUX_AMD64) == list(RELEASES)


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_urls_for_arm64_differ_in_the_processor_only(machine: str) -> None:
    for name, addresses in LINUX_AMD64.items():
        other = [address.replace("amd64", "arm64").replace("linux-x64", "linux-arm64") for address in addresses]
        assert _addresses(_located(name, machine=machine)) == other


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.folder)
def test_a_download_contains_the_same_files_as_a_build(part: Part) -> None:
    taken = [take for release in _located(part.folder) for take in release.wanted_files]
    programs = sorted(target for _, target in taken if target.startswith("bin/"))
    assert programs == sorted(f"bin/{name}" for name in part.binaries)
    files = {(pattern, target) for pattern, target in taken if not target.startswith("bin/")}
    assert files == {(files.pattern, f"{files.into}/") for files in part.shipped}


def test_versions_equal_those_of_the_pins() -> None:
    """What the build stamps is what go.mod names; every release of the control plane has go.mod's version."""
    for folder in ("controlplane", "kube-scheduler"):
        assert Module(folder, "k8s.io/kubernetes").version(PINS) == KUBERNETES_VERSION
    for part in PARTS:
        assert all(isinstance(release.version, Module) for release in RELEASES[part.folder])


def test_every_release_has_a_published_hash() -> None:
    for name in RELEASES:
        for release in _located(name):
            assert (release.sums is not None) != (release.kind in (IMAGE, MODULE))
            assert (release.module_hash is not None) == (release.kind == MODULE)


def test_one_file_is_extracted_from_an_image() -> None:
    images = [release for name in RELEASES for release in _located(name) if release.kind == IMAGE]
    assert {release.wanted_files[0][0] for release in images} == {
        "vc-controller-manager", "vc-scheduler", "vc-webhook-manager", "usr/local/bin/kwok",
    }  # fmt: skip
    assert all(len(release.wanted_files) == 1 for release in images)


@pytest.mark.parametrize(("system", "machine"), [("Linux", "riscv64"), ("Windows", "AMD64"), ("", "")])
@pytest.mark.parametrize("name", RELEASES)
def test_a_machine_without_a_release_is_reported(name: str, system: str, machine: str) -> None:
    with pytest.raises(ToolchainError, match=f"there is no release of .* for {system} on {machine}"):
        _located(name, system, machine)


def test_on_macos_only_pulumi_has_releases() -> None:
    urls = [release.url.rpartition("/")[2] for release in _located("pulumi", "Darwin", "arm64")]
    assert urls == ["pulumi-v3.259.0-darwin-arm64.tar.gz", "pulumi-resource-kubernetes-v4.25.0-darwin-arm64.tar.gz"]
    for part in PARTS:
        with pytest.raises(ToolchainError, match=r"there is no release of .* for Darwin on arm64"):
            _located(part.folder, "Darwin", "arm64")


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("https://modules.example.com,direct", "https://modules.example.com"),
        (" https://a.example.com/go/ | https://b.example.com", "https://a.example.com/go"),
    ],
)
def test_the_users_module_proxy_is_used(monkeypatch: pytest.MonkeyPatch, variable: str, address: str) -> None:
    monkeypatch.setenv("GOPROXY", variable)
    assert module_proxy() == address
    assert _located("kwok")[-1].url == f"{address}/sigs.k8s.io/kwok/@v/v0.8.0.zip"


def test_without_the_variable_the_default_proxy_of_go_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text(
        '#!/bin/sh\ncase "$*" in "env GOVERSION") echo go1.26.8;; "env GOPROXY") echo https://default.example.com,direct;; esac\n'
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("GOPROXY")
    _default_proxies.cache_clear()
    assert module_proxy() == "https://default.example.com"
    _default_proxies.cache_clear()


@pytest.mark.parametrize("variable", ["off", "direct", "file:///modules", "https://u:secret@a.example.com"])
def test_an_invalid_proxy_is_reported_without_its_password(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("GOPROXY", variable)
    with pytest.raises(ToolchainError) as caught:
        _located("kwok")
    assert "GOPROXY does not begin with the URL of a module proxy" in caught.value.message
    assert "secret" not in str(caught.value)


def test_module_paths_are_escaped_for_proxies() -> None:
    assert Module("x", "github.com/Azure/go-ansiterm").escaped == "github.com/!azure/go-ansiterm"


def test_pins_that_do_not_name_the_module_are_reported() -> None:
    for act in (Module("kwok", "volcano.sh/volcano").version, Module("kwok", "volcano.sh/volcano").hash):
        with pytest.raises(ToolchainError, match=r"the pins of kwok name no version of volcano.sh/volcano"):
            act(PINS)


def test_replace_directives_do_not_change_the_version(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "go.mod").write_text(
        "module x\n\nreplace a.example.com/sdk/v4 => ./sdk\n\n"
        "replace (\n\tb.example.com/b v1.0.0 => ./b\n\tc.example.com/c => d.example.com/d v9.0.0\n)\n\n"
        "require d.example.com/d v1.1.0\n\n"
        "require (\n\ta.example.com/sdk/v4 v4.24.0 // indirect\n\tb.example.com/b v1.2.0\n\tc.example.com/c v1.3.0 //indirect\n)\n"
    )
    versions = {
        "a.example.com/sdk/v4": "4.24.0",
        "b.example.com/b": "1.2.0",
        "c.example.com/c": "1.3.0",
        "d.example.com/d": "1.1.0",
    }
    assert {path: Module("x", path).version(tmp_path) for path in versions} == versions


def test_pins_replace_no_downloaded_module() -> None:
    """Else a download and a build of the same pins would be two different programs."""
    modules = [release.version for part in PARTS for release in RELEASES[part.folder]]
    for module in {module for module in modules if isinstance(module, Module)}:
        text = (PINS / module.folder / "go.mod").read_text()
        assert re.search(rf"{re.escape(module.path)}( v\S+)? =>", text) is None, module


def test_another_version_in_the_table_changes_the_url() -> None:
    release = structs.replace(RELEASES["kube-scheduler"][0], version="9.9.9")
    assert resolve_release(release, "Linux", "x86_64").url.startswith("https://dl.k8s.io/release/v9.9.9/")
