"""Releases of the table with version, system and processor filled in, and the user's proxy for Go modules."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from trainform.errors import ToolchainError
from trainform.progress import SILENT
from trainform.toolchain.cache import cache_folder
from trainform.toolchain.golang import find_go
from trainform.toolchain.parts import PINS
from trainform.toolchain.pinned import Module
from trainform.toolchain.releases import MODULE, Release

PROXY_VARIABLE = "GOPROXY"
# The names of systems and processors in releases and images; Pulumi uses other names.
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_PULUMI_MACHINES = {"amd64": "x64", "arm64": "arm64"}


class ResolvedRelease(Struct, frozen=True):
    """A release for one kind of machine, with all placeholders filled in."""

    name: str
    kind: str
    version: str
    system: str
    machine: str
    url: str
    sums: str | None
    wanted_files: tuple[tuple[str, str], ...]
    module_hash: str | None


def resolve_release(release: Release, system: str, machine: str, pins: Path = PINS) -> ResolvedRelease:
    """Return the release for a system and machine, as `platform` names them. Raises `ToolchainError` if there is
    none."""
    name, processor = _SYSTEMS.get(system), _MACHINES.get(machine)
    if name is None or name not in release.systems or processor is None:
        raise ToolchainError(f"there is no release of {release.name} for {system} on {machine}")
    module = release.version if isinstance(release.version, Module) else None
    version = release.version if isinstance(release.version, str) else release.version.version(pins)
    words = {"version": version, "system": name, "machine": processor, "pulumi_machine": _PULUMI_MACHINES[processor]}
    if release.kind == MODULE:
        words["proxy"] = module_proxy()
    return ResolvedRelease(
        name=release.name,
        kind=release.kind,
        version=version,
        system=name,
        machine=processor,
        url=release.url.format_map(words),
        sums=None if release.sums is None else release.sums.format_map(words),
        wanted_files=tuple((pattern.format_map(words), target) for pattern, target in release.wanted_files),
        module_hash=module.hash(pins) if module is not None and release.kind == MODULE else None,
    )


@functools.cache
def _default_proxies() -> str:
    """Return Go's default list of proxies; installs Go if there is none on this machine."""
    go = find_go(cache_folder(), SILENT)
    answer = subprocess.run([go, "env", PROXY_VARIABLE], capture_output=True, text=True, cwd="/", check=False)
    return answer.stdout


def module_proxy() -> str:
    """Return the first proxy of GOPROXY. Raises `ToolchainError` if GOPROXY does not begin with a URL, or if that has a
    password."""
    proxies = os.environ.get(PROXY_VARIABLE, "").strip() or _default_proxies()
    parts = urlsplit(re.split(r"[,|]", proxies)[0].strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or parts.username is not None:
        raise ToolchainError(
            f"{PROXY_VARIABLE} does not begin with the URL of a module proxy without a password",
            f"begin {PROXY_VARIABLE} with a URL, as in https://modules.example.com,direct",
        )
    return parts.geturl()
