"""The Pulumi of this machine: the command on PATH, its Python host, and the kubernetes plugin."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import cache_folder
from trainform.local.toolchain.tools import PulumiTools

Version = tuple[int, ...]
OLDEST_PULUMI = (3, 232)  # as pyproject.toml requires of the Python package
HOST = "pulumi-language-python"
PLUGIN = "pulumi-resource-kubernetes"
AUTO = "or set TRAINFORM_TOOLCHAIN=auto"
FIX = f"install or update pulumi, {AUTO}"


def find_system_pulumi() -> PulumiTools:
    """Return the Pulumi of this machine. `ToolchainError` if a program or plugin is missing or too old."""
    path = _path_without_cache()
    command = shutil.which("pulumi", path=path)
    if command is None:
        raise ToolchainError("no pulumi on PATH", FIX)
    version = _version(command)
    if (old := version_problem(command, version)) is not None:
        raise ToolchainError(old, FIX)
    # Pulumi looks for its language host on PATH, and in its own folder.
    folders = (path, str(Path(command).parent), str(Path(command).resolve().parent))
    if shutil.which(HOST, path=os.pathsep.join(folders)) is None:
        raise ToolchainError(f"{command} has no {HOST} next to it", FIX)
    home = _home()
    _check_plugin(home)
    return PulumiTools(Path(command).parent, home, "system")


def version_problem(command: str, version: Version | None) -> str | None:
    """Return why a pulumi of this version is not used, None if it is new enough."""
    if version is not None and version >= OLDEST_PULUMI:
        return None
    return (
        f"the version of {command} is {format_version(version)}; {format_version(OLDEST_PULUMI)} or later is required"
    )


def plugin_versions(home: Path) -> list[str]:
    """Return the versions of the kubernetes plugin in a PULUMI_HOME, such as `v4.25.0`."""
    prefix = "resource-kubernetes-"
    return sorted(path.parent.name.removeprefix(prefix) for path in home.glob(f"plugins/{prefix}v*/{PLUGIN}"))


def _path_without_cache() -> str:
    """Return PATH without folders of the cache, whose pulumi is not the system's."""
    ours = cache_folder()
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry and not Path(entry).is_relative_to(ours))


def _home() -> Path:
    variable = os.environ.get("PULUMI_HOME")
    if variable and not Path(variable).is_relative_to(cache_folder()):
        return Path(variable)
    return Path.home() / ".pulumi"


def _check_plugin(home: Path) -> None:
    # Resources request the plugin of exactly their SDK's version, and the engine must not download another one.
    required = f"v{importlib.metadata.version('pulumi-kubernetes')}"
    found = plugin_versions(home)
    if required not in found:
        there = ", ".join(found) if found else "none"
        raise ToolchainError(
            f"the kubernetes plugin {required}, the version of the Python package, is not in {home / 'plugins'}; "
            f"found: {there}",
            f"run `pulumi plugin install resource kubernetes {required}`, {AUTO}",
        )


@functools.cache
def _version(command: str) -> Version | None:
    return printed_version([command, "version"], PULUMI_SKIP_UPDATE_CHECK="true")


# --- versions


def printed_version(command: Sequence[str], folder: str | None = None, **variables: str) -> Version | None:
    """Return the version that a command prints in the folder, None if it does not run or prints another text."""
    environment = {**os.environ, **variables}
    try:
        answer = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout)


def parse_version(text: str) -> Version | None:
    """Return the first two numbers of `v3.259.0`, `v3.260.0-alpha.1` or `go1.26.1`, None for any other text."""
    match = re.match(r"\s*(?:v|go)?(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def format_version(version: Version | None) -> str:
    """Return the version for a message."""
    return "unknown" if version is None else ".".join(map(str, version))
