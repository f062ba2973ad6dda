"""A release of the table for one kind of machine, in the version of the pins; and the user's proxy for Go modules."""

from __future__ import annotations

import base64
import dataclasses
import functools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain.cache import cache_folder
from trainform.toolchain.golang import find_go
from trainform.toolchain.parts import PINS
from trainform.toolchain.pinned import Module
from trainform.toolchain.releases import MODULE, Release

PROXY_VARIABLE = "GOPROXY"
# Release and image names of systems and processors; Pulumi alone has another one for amd64.
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_PULUMI_MACHINES = {"amd64": "x64", "arm64": "arm64"}


@dataclasses.dataclass(frozen=True)
class Located:
    """A release for one kind of machine, with everything filled in."""

    name: str
    kind: str
    version: str
    system: str
    machine: str
    url: str
    sums: str | None
    takes: tuple[tuple[str, str], ...]
    module_hash: str | None

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


def locate(release: Release, system: str, machine: str, pins: Path = PINS) -> Located:
    """For what `platform` calls this system and machine."""
    name, processor = _SYSTEMS.get(system), _MACHINES.get(machine)
    if name is None or name not in release.systems or processor is None:
        raise ToolchainError(f"there is no release of {release.name} for {system} on {machine}")
    module = release.version if isinstance(release.version, Module) else None
    version = release.version if isinstance(release.version, str) else release.version.version(pins)
    words = {"version": version, "system": name, "machine": processor, "pulumi_machine": _PULUMI_MACHINES[processor]}
    if release.kind == MODULE:
        words["proxy"], _ = module_proxy()
    return Located(
        name=release.name,
        kind=release.kind,
        version=version,
        system=name,
        machine=processor,
        url=release.url.format_map(words),
        sums=None if release.sums is None else release.sums.format_map(words),
        takes=tuple((pattern.format_map(words), target) for pattern, target in release.takes),
        module_hash=module.hash(pins) if module is not None and release.kind == MODULE else None,
    )


def _entries(proxies: str) -> list[str]:
    return [entry.strip() for entry in re.split(r"[,|]", proxies) if entry.strip()]


def _proxies() -> Iterator[str]:
    """Lists of proxies: the user's variable, and where it says nothing what Go takes then."""
    yield os.environ.get(PROXY_VARIABLE, "")
    yield _default_proxies()


@functools.cache
def _default_proxies() -> str:
    """What Go says, which has a default of its own. Without a Go on this machine it comes as a wheel."""
    go = find_go(cache_folder(), SILENT)
    answer = subprocess.run([go, "env", PROXY_VARIABLE], capture_output=True, text=True, cwd="/", check=False)
    return answer.stdout.strip()


def module_proxy() -> tuple[str, dict[str, str]]:
    """The first proxy of GOPROXY without its password, and for its host the header that carries the password."""
    parts = urlsplit(next((entry for source in _proxies() for entry in _entries(source)), "").rstrip("/"))
    if parts.scheme not in ("http", "https"):
        raise ToolchainError(
            f"{PROXY_VARIABLE} does not begin with the address of a proxy for modules",
            f"begin {PROXY_VARIABLE} with an address, as in https://modules.example.com,direct",
        )
    if parts.username is None:
        return parts.geturl(), {}
    host = parts.netloc.rpartition("@")[2]
    password = "" if parts.password is None else unquote(parts.password)
    pair = base64.b64encode(f"{unquote(parts.username)}:{password}".encode()).decode()
    return parts._replace(netloc=host).geturl(), {host: f"Basic {pair}"}
