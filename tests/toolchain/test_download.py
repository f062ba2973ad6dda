"""Release archives from a server on loopback: whole, broken, slow, absent."""

from __future__ import annotations

import functools
import http.server
import io
import platform
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain.download import STALL_SECONDS, archive_paths, unpack
from trainform.toolchain.pulumi import install_release

# Answers like the real one to what is asked of it: its version, and to lay a plugin into PULUMI_HOME.
PULUMI = """#!/bin/sh
case "$1" in
version) echo v3.259.0 ;;
plugin) folder=$PULUMI_HOME/plugins/resource-$4-$5; mkdir -p "$folder" && cp "$7" "$folder/" ;;
esac
"""
SDK, PLUGIN = archive_paths(platform.system(), platform.machine())


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _archive(path: Path, members: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """What the server serves: both archives, whole."""
    folder = tmp_path / "site"
    _archive(folder / SDK, {"pulumi/pulumi": PULUMI, "pulumi/pulumi-language-python": "#!/bin/sh\n"})
    _archive(folder / PLUGIN, {"pulumi-resource-kubernetes": "#!/bin/sh\n", "LICENSE": ""})
    return folder


@pytest.fixture
def releases(site: Path) -> Iterator[str]:
    """The server's address."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_whole_archives_are_installed(cache: Path, releases: str) -> None:
    tools = install_release(cache / "t", SILENT, releases)
    assert tools.origin == "download"
    assert (tools.bin / "pulumi").is_file()
    assert (tools.home / "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes").is_file()
    assert sorted(path.name for path in (cache / "t").iterdir()) == ["lock", "pulumi-download"]


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _replace_by_page(path: Path) -> None:
    path.write_text("<html>Please log in to the network</html>")


def _empty(path: Path) -> None:
    _archive(path, {"README": "nothing here"})


def _escape(path: Path) -> None:
    _archive(path, {"../../pulumi": PULUMI})


@pytest.mark.parametrize("spoil", [_truncate, _replace_by_page, _empty, _escape, Path.unlink])
@pytest.mark.parametrize("archive", [SDK, PLUGIN])
def test_a_broken_archive_is_not_used(cache: Path, site: Path, releases: str, spoil: object, archive: str) -> None:
    assert callable(spoil)
    spoil(site / archive)
    with pytest.raises(ToolchainError) as caught:
        install_release(cache / "t", SILENT, releases)
    assert archive in caught.value.message
    assert [path.name for path in (cache / "t").iterdir()] == ["lock"]
    assert not list(cache.parent.glob("pulumi"))


def test_no_corruption_of_an_archive_gets_through(tmp_path: Path) -> None:
    """Every byte of a small archive changed in three ways, and every length it can be cut to."""
    rows = "".join(f"echo {number * 7919 % 1009} {number}\n" for number in range(60))
    whole = tmp_path / "whole.tar.gz"
    _archive(whole, {"pulumi/pulumi": PULUMI + rows})
    content = whole.read_bytes()
    spoilt = [content[:length] for length in range(len(content))]
    for position, byte in enumerate(content):
        spoilt += [content[:position] + bytes([byte ^ mask]) + content[position + 1 :] for mask in (0x01, 0x10, 0xFF)]
    archive, target = tmp_path / "archive.tar.gz", tmp_path / "target"
    refused = 0
    for variant in spoilt:
        archive.write_bytes(variant)
        try:
            unpack(archive, target, "https://get.pulumi.com/releases/sdk/pulumi.tar.gz")
        except ToolchainError:
            refused += 1
        else:  # the time and the name in gzip's own header are under no checksum, and nobody reads them
            assert (target / "pulumi" / "pulumi").read_text() == PULUMI + rows
    assert refused > 0.95 * len(spoilt)


def test_another_version_than_promised_is_not_used(cache: Path, site: Path, releases: str) -> None:
    _archive(site / SDK, {"pulumi/pulumi": PULUMI.replace("3.259", "3.100")})
    with pytest.raises(ToolchainError, match=r"says it is v3\.100\.0"):
        install_release(cache / "t", SILENT, releases)
    assert not (cache / "t" / "pulumi-download").exists()


def test_a_closed_port_is_given_up_at_once(cache: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ToolchainError, match="refused"):
            install_release(cache / "t", SILENT, address)


def test_silence_is_given_up_after_a_few_seconds(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        with pytest.raises(ToolchainError, match="no answer within 4 s"):
            install_release(cache / "t", Recording(), f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - begin < STALL_SECONDS


@pytest.mark.parametrize(
    ("system", "machine", "sdk", "plugin"),
    [
        ("Linux", "x86_64", "linux-x64", "linux-amd64"),
        ("Linux", "aarch64", "linux-arm64", "linux-arm64"),
        ("Darwin", "arm64", "darwin-arm64", "darwin-arm64"),
    ],
)
def test_archives_are_named_as_pulumi_names_them(system: str, machine: str, sdk: str, plugin: str) -> None:
    assert archive_paths(system, machine) == (
        f"sdk/pulumi-v3.259.0-{sdk}.tar.gz",
        f"plugins/pulumi-resource-kubernetes-v4.25.0-{plugin}.tar.gz",
    )


def test_a_machine_without_a_release_is_said() -> None:
    with pytest.raises(ToolchainError, match="no release of Pulumi for Linux on riscv64"):
        archive_paths("Linux", "riscv64")
