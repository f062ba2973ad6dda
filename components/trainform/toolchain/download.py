"""Pulumi's official release archives, given up quickly where there is no way to them."""

from __future__ import annotations

import gzip
import http.client
import os
import platform
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
import zlib
from pathlib import Path

from trainform.errors import ToolchainError
from trainform.progress import Progress, Step
from trainform.toolchain.parts import PLUGIN_VERSION, PULUMI_VERSION

RELEASES = "https://get.pulumi.com/releases"
# For the answer to begin, name lookup and proxies included: where there is no route, building begins after this.
CONNECT_SECONDS = 4.0
# Between two pieces of an archive.
STALL_SECONDS = 30.0
CHUNK = 1 << 20
FIX = "check the network, or set TRAINFORM_TOOLCHAIN=build"

_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
# The two projects name the same processors differently.
_SDK_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_PLUGIN_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def archive_paths(system: str, machine: str) -> tuple[str, str]:
    """Where the archives of the command and of the plugin lie under the releases."""
    if system not in _SYSTEMS or machine not in _SDK_MACHINES:
        raise ToolchainError(f"there is no release of Pulumi for {system} on {machine}", FIX)
    name = _SYSTEMS[system]
    return (
        f"sdk/pulumi-v{PULUMI_VERSION}-{name}-{_SDK_MACHINES[machine]}.tar.gz",
        f"plugins/pulumi-resource-kubernetes-v{PLUGIN_VERSION}-{name}-{_PLUGIN_MACHINES[machine]}.tar.gz",
    )


def download_pulumi(folder: Path, progress: Progress, releases: str = RELEASES) -> tuple[Path, Path]:
    """Fetch and unpack both into `folder`: the folder of the commands, and the plugin's binary."""
    sdk, plugin = archive_paths(platform.system(), platform.machine())
    for number, path in enumerate((sdk, plugin), start=1):
        url = f"{releases}/{path}"
        title = f"downloading {url} ({number} of 2)"
        with progress.step(title) as step:
            archive = folder / "archive.tar.gz"
            _fetch(url, archive, title, step)
            unpack(archive, folder / path.split("/", 1)[0], url)
            archive.unlink()
    return folder / "sdk" / "pulumi", folder / "plugins" / "pulumi-resource-kubernetes"


def _fetch(url: str, target: Path, title: str, step: Step) -> None:
    try:
        with _open(url) as response, target.open("wb") as file:
            length = response.headers.get("Content-Length")
            total = "" if length is None else f" of {int(length) >> 20}"
            while piece := response.read(CHUNK):
                file.write(piece)
                step.update(f"{title}: {file.tell() >> 20}{total} MB")
            if length is not None and file.tell() != int(length):
                raise ToolchainError(f"{url} ended after {file.tell()} of {length} bytes", FIX)
    except (OSError, http.client.HTTPException) as error:
        raise ToolchainError(f"{url}: {_reason(error)}", FIX) from error


def _open(url: str) -> http.client.HTTPResponse:
    """The answer's beginning, or `TimeoutError`: a thread, because a name lookup cannot be given a time limit."""
    answers: list[http.client.HTTPResponse] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(urllib.request.urlopen(url, timeout=STALL_SECONDS))  # noqa: S310  (a constant, or a test's loopback)
        except urllib.error.HTTPError as error:
            error.close()  # it holds the connection
            errors.append(error)
        except (OSError, http.client.HTTPException) as error:
            errors.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if answers:
        return answers[0]
    raise errors[0] if errors else TimeoutError(f"no answer within {CONNECT_SECONDS:.0f} s")


def _reason(error: Exception) -> str:
    return str(error.reason) if isinstance(error, urllib.error.URLError) else str(error)


def unpack(archive: Path, target: Path, url: str) -> None:
    """Unpack what came from `url`; `ToolchainError` unless every byte of it is as it was packed."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        with gzip.open(archive) as stream:
            with tarfile.open(fileobj=stream, mode="r:") as content:
                content.extractall(target, filter="data")
            # tar stops at its own end mark; gzip's checksum stands after it.
            while stream.read(CHUNK):
                pass
    # tar's, zlib's and gzip's errors for a file that ends early, was changed or is no archive (a proxy's error page).
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise ToolchainError(f"{url} is not a whole archive: {error}", FIX) from error
    if not any(os.access(path, os.X_OK) for path in target.rglob("pulumi*") if path.is_file()):
        raise ToolchainError(f"{url} holds no program of Pulumi", FIX)
