"""Pulumi as it is on this machine: the command on PATH, its Python host, and the kubernetes plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from trainform.errors import ToolchainError
from trainform.toolchain.cache import cache_folder
from trainform.toolchain.model import PulumiTools

# What pyproject.toml wants of the Python packages; the plugin must understand what they send.
OLDEST_PULUMI = (3, 232)
OLDEST_PLUGIN = (4, 25)
HOST = "pulumi-language-python"
PLUGIN_FOLDER = re.compile(r"^resource-kubernetes-v(\d+)\.(\d+)\.\d+$")
FIX = "install or update pulumi and its kubernetes plugin, or set TRAINFORM_TOOLCHAIN=auto"


def find_system_pulumi() -> PulumiTools:
    """`ToolchainError` with the reason if something is missing or too old."""
    path = _foreign_path()
    command = shutil.which("pulumi", path=path)
    if command is None:
        raise ToolchainError("no pulumi on PATH", FIX)
    version = _version(Path(command))
    if version is None or version < OLDEST_PULUMI:
        raise ToolchainError(f"{command} is {_written(version)}, {_written(OLDEST_PULUMI)} or later is needed", FIX)
    folder = Path(command).parent
    if shutil.which(HOST, path=f"{path}{os.pathsep}{folder}{os.pathsep}{Path(command).resolve().parent}") is None:
        raise ToolchainError(f"{command} has no {HOST} beside it", FIX)
    home = _home()
    newest = max(_plugins(home), default=None)
    if newest is None or newest < OLDEST_PLUGIN:
        raise ToolchainError(f"no kubernetes plugin {_written(OLDEST_PLUGIN)} or later in {home / 'plugins'}", FIX)
    return PulumiTools(folder, home, "system")


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


def _plugins(home: Path) -> Iterator[tuple[int, int]]:
    for path in home.glob("plugins/resource-kubernetes-v*/pulumi-resource-kubernetes"):
        match = PLUGIN_FOLDER.match(path.parent.name)
        if match is not None:
            yield int(match[1]), int(match[2])


def _version(command: Path) -> tuple[int, ...] | None:
    """What `pulumi version` says; asked once for each binary, since it takes 0.2 s and every command comes here."""
    stat = command.stat()
    key = f"{command.resolve()}:{stat.st_mtime_ns}:{stat.st_size}"
    notes = cache_folder() / "system-pulumi.json"
    try:
        known = json.loads(notes.read_text())
    except (OSError, ValueError):
        known = {}
    if known.get("key") != key:
        known = {"key": key, "answer": _ask(command)}
        notes.parent.mkdir(parents=True, exist_ok=True)
        notes.write_text(json.dumps(known))
    return parse_version(known["answer"])


def _ask(command: Path) -> str:
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [command, "version"], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout


def parse_version(text: str) -> tuple[int, ...] | None:
    """`v3.259.0` and `v3.260.0-alpha.1` as numbers."""
    match = re.match(r"\s*v?(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def _written(version: tuple[int, ...] | None) -> str:
    return "of unknown version" if version is None else ".".join(map(str, version))
