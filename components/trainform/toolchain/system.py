"""Pulumi as it is on this machine: the command on PATH, its Python host, and the kubernetes plugin.

Looking writes nothing; `remember_version` does.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import subprocess
from pathlib import Path

from trainform.errors import ToolchainError
from trainform.toolchain.cache import cache_folder
from trainform.toolchain.model import PulumiTools
from trainform.toolchain.versions import Version, parse_version, written

OLDEST_PULUMI = (3, 232)  # what pyproject.toml wants of the Python package
HOST = "pulumi-language-python"
PLUGIN = "pulumi-resource-kubernetes"
AUTO = "or set TRAINFORM_TOOLCHAIN=auto"
FIX = f"install or update pulumi, {AUTO}"


def find_system_pulumi() -> PulumiTools:
    """`ToolchainError` with the reason if something is missing or too old."""
    path = _foreign_path()
    command = shutil.which("pulumi", path=path)
    if command is None:
        raise ToolchainError("no pulumi on PATH", FIX)
    version = _version(Path(command))
    if version is None or version < OLDEST_PULUMI:
        raise ToolchainError(f"{command} is {written(version)}, {written(OLDEST_PULUMI)} or later is needed", FIX)
    if not has_host(Path(command), path):
        raise ToolchainError(f"{command} has no {HOST} beside it", FIX)
    home = _home()
    _check_plugin(home)
    return PulumiTools(Path(command).parent, home, "system")


def has_host(command: Path, path: str) -> bool:
    """True where a pulumi finds its Python host: on PATH, or beside itself."""
    folders = (path, str(command.parent), str(command.resolve().parent))
    return shutil.which(HOST, path=os.pathsep.join(folders)) is not None


def plugin_versions(home: Path) -> list[str]:
    """Versions of the kubernetes plugin in a PULUMI_HOME: `v4.25.0`."""
    prefix = "resource-kubernetes-"
    return sorted(path.parent.name.removeprefix(prefix) for path in home.glob(f"plugins/{prefix}v*/{PLUGIN}"))


def _foreign_path() -> str:
    """PATH without our own folders: in a shell of the sandbox the built pulumi is on it, and that one is not the system's."""
    ours = cache_folder()
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry and not Path(entry).is_relative_to(ours))


def _home() -> Path:
    variable = os.environ.get("PULUMI_HOME")
    if variable and not Path(variable).is_relative_to(cache_folder()):
        return Path(variable)
    return Path.home() / ".pulumi"


def _check_plugin(home: Path) -> None:
    # Resources name the version of their SDK, and the engine, which may fetch nothing, takes no other: neither older nor newer.
    wanted = f"v{importlib.metadata.version('pulumi-kubernetes')}"
    found = plugin_versions(home)
    if wanted not in found:
        there = ", ".join(found) if found else "none"
        raise ToolchainError(
            f"no kubernetes plugin {wanted} in {home / 'plugins'}, the version of the Python package; there is {there}",
            f"run `pulumi plugin install resource kubernetes {wanted}`, {AUTO}",
        )


def _version(command: Path) -> Version | None:
    noted = _read_note(_key(command))
    return parse_version(_ask(command) if noted is None else noted)


def remember_version(command: Path) -> None:
    """Note what `pulumi version` says, so that the next command need not ask: that takes 0.2 s."""
    key = _key(command)
    if _read_note(key) is None:
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not the system's pulumi
            _note().parent.mkdir(parents=True, exist_ok=True)
            _note().write_text(json.dumps({"key": key, "answer": _ask(command)}))


def _note() -> Path:
    return cache_folder() / "system-pulumi.json"


def _key(command: Path) -> str:
    """Another one for each binary."""
    stat = command.stat()
    return f"{command.resolve()}:{stat.st_mtime_ns}:{stat.st_size}"


def _read_note(key: str) -> str | None:
    try:
        note = json.loads(_note().read_text())
        return str(note["answer"]) if note["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _ask(command: Path) -> str:
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [command, "version"], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout
