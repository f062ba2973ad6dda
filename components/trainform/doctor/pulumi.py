"""Looks at the Pulumi that a shell would run here: the command, the plugin of its Kubernetes provider, where stacks keep their state."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from trainform.doctor.machine import look_at_python
from trainform.doctor.model import Asked, Finding, Findings, State
from trainform.doctor.programs import ask
from trainform.doctor.project import backend_url
from trainform.errors import TrainformError, shorten
from trainform.toolchain.cache import cache_folder, toolchain_folder
from trainform.toolchain.model import PulumiTools
from trainform.toolchain.parts import PLUGIN_VERSION
from trainform.toolchain.pulumi import ready_pulumi
from trainform.toolchain.system import HOST, OLDEST_PULUMI, PLUGIN, has_host, plugin_versions
from trainform.toolchain.versions import parse_version, written

GET_PULUMI = "trainform toolchain ensure --pulumi-only"
FETCHES_NOTHING = "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"
PATIENCE = 10.0  # seconds
TOKEN = "PULUMI_ACCESS_TOKEN"  # noqa: S105 - the name of the variable
SERVICES = ("https://", "http://")  # that want a token; the others are folders and buckets


def look_at_pulumi(asked: Asked, findings: Findings) -> Finding:
    """The command and its Python host."""
    command = shutil.which("pulumi")
    if command is None:
        tools = _made()
        if tools is None:
            return Finding(State.MISSING, "not on PATH", GET_PULUMI)
        fix = f'export PATH="{tools.bin}:$PATH" PULUMI_HOME="{tools.home}"'
        return Finding(State.MISSING, f"not on PATH; there is one in {tools.bin}", fix)
    answer = shorten(ask([command, "version"], asked.patience, {"PULUMI_SKIP_UPDATE_CHECK": "true"}).strip())
    version = parse_version(answer)
    found = f"{answer}, {command}"
    if version is None or version < OLDEST_PULUMI:
        text = f"{command} is {written(version)}, {written(OLDEST_PULUMI)} or later is needed"
        return Finding(State.MISSING, text, f"update it, or: {GET_PULUMI}")
    if not has_host(Path(command), os.environ.get("PATH", os.defpath)):
        return Finding(State.MISSING, f"{found}, has no {HOST} beside it", f"install it anew, or: {GET_PULUMI}")
    return Finding(State.OK, found)


def _made() -> PulumiTools | None:
    """The one of the tool chain's cache. What the system has is on PATH."""
    return ready_pulumi(("download", "build"), toolchain_folder())


def look_at_plugin(asked: Asked, findings: Findings) -> Finding:
    """The version that resources ask for is that of the SDK; the engine takes no other."""
    wanted = f"v{findings['python'].details['pulumi-kubernetes']}"
    home = _home()
    there = plugin_versions(home)
    if wanted in there:
        return Finding(State.OK, f"{wanted}, that of the Python package, in {home / 'plugins'}")
    others = f"there is {', '.join(there)}" if there else "there is none"
    text = f"no {wanted}, the version of the Python package, in {home / 'plugins'}: {others}"
    fix = shlex.join(["pulumi", "plugin", "install", "resource", "kubernetes", wanted, *_from_file(wanted)])
    if f"v{PLUGIN_VERSION}" in there and home.is_relative_to(cache_folder()):  # in a shell of the sandbox
        fix = _install_sdk(findings["python"].details["path"])
    if os.environ.get(FETCHES_NOTHING) == "true":
        return Finding(State.MISSING, text, fix)
    return Finding(State.NOTE, f"{text}; the next preview will download it", fix)


def fitting_sdk(root: Path, home: Path) -> str:
    """What the project's Python needs so that its resources ask for a plugin that is in this PULUMI_HOME; "" where nothing is to be done, or
    known."""
    try:
        python = look_at_python(Asked(root, None, PATIENCE), {})
    except (TrainformError, OSError, ValueError):  # `trainform doctor` tells
        return ""
    sdk = python.details.get("pulumi-kubernetes")
    if sdk is None or f"v{sdk}" in plugin_versions(home):
        return ""
    fix = _install_sdk(python.details["path"])
    return f"Python has pulumi-kubernetes {sdk}, and the sandbox's Pulumi no plugin of that version; to fit it: {fix}"


def _install_sdk(python: str) -> str:
    return shlex.join([python, "-m", "pip", "install", f"pulumi-kubernetes=={PLUGIN_VERSION}"])


def _from_file(version: str) -> list[str]:
    """How to install it without network, where the tool chain has it."""
    tools = _made()
    if tools is None or version not in plugin_versions(tools.home):
        return []
    return ["-f", str(tools.home / "plugins" / f"resource-kubernetes-{version}" / PLUGIN)]


def _home() -> Path:
    variable = os.environ.get("PULUMI_HOME")
    return Path(variable) if variable else Path.home() / ".pulumi"


def look_at_state(asked: Asked, findings: Findings) -> Finding:
    """Where stacks keep their state, as Pulumi itself looks for it: a variable, the project's file, the last login."""
    credentials = _credentials()
    chosen = (os.environ.get("PULUMI_BACKEND_URL"), backend_url(asked.root), credentials.get("current"))
    url = next((str(place) for place in chosen if place), None)
    token = bool(os.environ.get(TOKEN))
    if url is None:
        return Finding(State.OK, f"Pulumi Cloud, by {TOKEN}") if token else Finding(State.MISSING, "not logged in")
    if url.startswith(SERVICES) and not token and not _tokens(credentials).get(url):
        return Finding(State.MISSING, f"not logged in to {url}", shlex.join(["pulumi", "login", url]))
    folder = Path(url.removeprefix("file://").partition("?")[0]).expanduser()
    if url.startswith("file://") and not folder.is_dir():
        return Finding(
            State.MISSING, f"file://{folder}: there is no such folder", shlex.join(["mkdir", "-p", str(folder)])
        )
    return Finding(State.OK, url.partition("?")[0])  # the rest may be a key of the bucket


def _credentials() -> dict[str, Any]:
    """What `pulumi login` wrote."""
    folder = os.environ.get("PULUMI_CREDENTIALS_PATH")
    try:
        content = json.loads(((Path(folder) if folder else _home()) / "credentials.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _tokens(credentials: dict[str, Any]) -> dict[str, Any]:
    tokens = credentials.get("accessTokens")
    return tokens if isinstance(tokens, dict) else {}
