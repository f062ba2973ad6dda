"""Releases of the table with version, system and processor filled in, and the user's proxy for Go modules."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import cache_folder
from trainform.local.toolchain.golang import find_go
from trainform.local.toolchain.parts import PINS
from trainform.local.toolchain.releases import MODULE, Module, Release

PROXY_VARIABLE = "GOPROXY"
# The names of systems and processors in releases and images; Pulumi uses other names.
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_PULUMI_MACHINES = {"amd64": "x64", "arm64": "arm64"}


class ResolvedRelease(Release, frozen=True, kw_only=True):
    """A release for one kind of machine, with all placeholders filled in."""

    version: str
    platform: tuple[str, str]  # system and processor, as images name them
    module_hash: str | None


def resolve_release(release: Release, system: str, machine: str, pins: Path = PINS) -> ResolvedRelease:
    """Return the release for a system and machine, as `platform` names them. `ToolchainError` without one."""
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
        url=release.url.format_map(words),
        wanted_files=tuple((pattern.format_map(words), target) for pattern, target in release.wanted_files),
        sums=None if release.sums is None else release.sums.format_map(words),
        platform=(name, processor),
        module_hash=module.hash(pins) if module is not None and release.kind == MODULE else None,
    )


def module_proxy() -> str:
    """Return the first proxy of GOPROXY, of the variable or as Go knows it. Raises `ToolchainError` if GOPROXY does not
    begin with a URL, or if that has a password."""
    proxies = os.environ.get(PROXY_VARIABLE, "").strip()
    if not proxies:
        command = [str(find_go(cache_folder(), SILENT)), "env", PROXY_VARIABLE]
        proxies = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False).stdout
    parts = urlsplit(re.split(r"[,|]", proxies)[0].strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or parts.username is not None:
        raise ToolchainError(
            f"{PROXY_VARIABLE} does not begin with the URL of a module proxy without a password",
            f"begin {PROXY_VARIABLE} with a URL, as in https://modules.example.com,direct",
        )
    return parts.geturl()
