"""The table of releases: its URLs, and that a download contains the same files as a build."""

from __future__ import annotations

import re

import pytest

from trainform.errors import ToolchainError
from trainform.local.toolchain.addons import COREDNS, KUBE_SCHEDULER, NODE
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS, KUBERNETES_VERSION, PINS, Part
from trainform.local.toolchain.releases import IMAGE, MODULE, RELEASES, Module
from trainform.local.toolchain.resolving import ResolvedRelease, module_proxy, resolve_release

PARTS = (*CONTROL_PLANE_PARTS, KUBE_SCHEDULER, NODE, COREDNS)


@pytest.fixture(autouse=True)
def proxy_for_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "https://modules.example.org")


def _located(name: str, system: str = "Linux", machine: str = "x86_64") -> list[ResolvedRelease]:
    return [resolve_release(release, system, machine) for release in RELEASES[name]]


def _addresses(located: list[ResolvedRelease]) -> list[str]:
    return [address for release in located for address in (release.url, release.sums) if address is not None]


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_urls_for_arm64_differ_in_the_processor_only(machine: str) -> None:
    for name in RELEASES:
        found = _addresses(_located(name))
        other = [address.replace("amd64", "arm64").replace("linux-x64", "linux-arm64") for address in found]
        assert _addresses(_located(name, machine=machine)) == other


@pytest.mark.parametrize("part", [NODE, COREDNS], ids=lambda part: part.folder)
def test_a_mac_gets_the_programs_of_containers_for_linux(part: Part) -> None:
    assert _addresses(_located(part.folder, "Darwin", "arm64")) == _addresses(_located(part.folder, machine="arm64"))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.folder)
def test_a_download_contains_the_same_files_as_a_build(part: Part) -> None:
    taken = [take for release in _located(part.folder) for take in release.wanted_files]
    programs = sorted(target for _, target in taken if target.startswith("bin/"))
    assert programs == sorted(f"bin/{name}" for name in part.binaries)
    files = {(pattern, target) for pattern, target in taken if not target.startswith("bin/")}
    assert files == {(files.pattern, f"{files.into}/") for files in part.shipped}


def test_versions_equal_those_of_the_pins() -> None:
    """The build stamps the version of go.mod; every release of the control plane has go.mod's version."""
    assert Module("controlplane", "k8s.io/kubernetes").version(PINS) == KUBERNETES_VERSION
    for part in PARTS:
        assert all(isinstance(release.version, Module) for release in RELEASES[part.folder])


def test_every_release_has_a_published_hash() -> None:
    for name in RELEASES:
        for release in _located(name):
            assert (release.sums is not None) != (release.kind in (IMAGE, MODULE))
            assert (release.module_hash is not None) == (release.kind == MODULE)


@pytest.mark.parametrize(("system", "machine"), [("Linux", "riscv64"), ("Windows", "AMD64"), ("", "")])
@pytest.mark.parametrize("name", RELEASES)
def test_a_machine_without_a_release_is_reported(name: str, system: str, machine: str) -> None:
    with pytest.raises(ToolchainError, match=f"there is no release of .* for {system} on {machine}"):
        _located(name, system, machine)


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


def test_pins_replace_no_downloaded_module() -> None:
    """Else a download and a build of the same pins would be two different programs."""
    modules = [release.version for part in PARTS for release in RELEASES[part.folder]]
    for module in {module for module in modules if isinstance(module, Module)}:
        text = (PINS / module.folder / "go.mod").read_text()
        assert re.search(rf"{re.escape(module.path)}( v\S+)? =>", text) is None, module
