"""Checks of the Pulumi that this shell runs: the command, the plugin of its Kubernetes provider, and the backend for state."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from trainform.doctor.machine import look_at_python
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.doctor.programs import run_program
from trainform.doctor.project import backend_url
from trainform.errors import TrainformError, shorten
from trainform.toolchain.cache import cache_folder, toolchain_folder
from trainform.toolchain.model import PulumiTools
from trainform.toolchain.parts import PLUGIN_VERSION
from trainform.toolchain.pulumi import ready_pulumi
from trainform.toolchain.system import HOST, OLDEST_PULUMI, PLUGIN, has_host, plugin_versions
from trainform.toolchain.versions import format_version, parse_version

GET_PULUMI = "trainform toolchain ensure --pulumi-only"
NO_DOWNLOADS_VARIABLE = "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"
PATIENCE = 10.0  # seconds
TOKEN = "PULUMI_ACCESS_TOKEN"  # noqa: S105 - the name of the variable
SERVICES = ("https://", "http://")  # these need a token; other backends are folders and buckets


def look_at_pulumi(request: Request, findings: Findings) -> Finding:
    """Check the command pulumi and its Python language host."""
    command = shutil.which("pulumi")
    if command is None:
        tools = _built_pulumi()
        if tools is None:
            return Finding(State.MISSING, "not on PATH", GET_PULUMI)
        fix = f'export PATH="{tools.bin}:$PATH" PULUMI_HOME="{tools.home}"'
        return Finding(State.MISSING, f"not on PATH, but installed in {tools.bin}", fix)
    answer = shorten(run_program([command, "version"], request.timeout, {"PULUMI_SKIP_UPDATE_CHECK": "true"}).strip())
    version = parse_version(answer)
    found = f"{answer}, {command}"
    if version is None or version < OLDEST_PULUMI:
        text = f"the version of {command} is {format_version(version)}; {format_version(OLDEST_PULUMI)} or later is required"
        return Finding(State.MISSING, text, f"update it, or: {GET_PULUMI}")
    if not has_host(Path(command), os.environ.get("PATH", os.defpath)):
        return Finding(State.MISSING, f"{found}, has no {HOST} in its folder", f"install it again, or: {GET_PULUMI}")
    return Finding(State.OK, found)


def _built_pulumi() -> PulumiTools | None:
    """Return the Pulumi in the tool chain's cache, None if there is none."""
    return ready_pulumi(("download", "build"), toolchain_folder())


def look_at_plugin(request: Request, findings: Findings) -> Finding:
    """Check that the plugin has the version of the SDK, which resources request; the engine uses no other version."""
    wanted = f"v{findings['python'].details['pulumi-kubernetes']}"
    home = _home()
    there = plugin_versions(home)
    if wanted in there:
        return Finding(State.OK, f"{wanted}, that of the Python package, in {home / 'plugins'}")
    others = f"found: {', '.join(there) if there else 'none'}"
    text = f"no {wanted}, the version of the Python package, in {home / 'plugins'}: {others}"
    fix = shlex.join(["pulumi", "plugin", "install", "resource", "kubernetes", wanted, *_from_file(wanted)])
    if f"v{PLUGIN_VERSION}" in there and home.is_relative_to(cache_folder()):  # in a shell that uses the sandbox
        fix = _install_sdk(findings["python"].details["path"])
    if os.environ.get(NO_DOWNLOADS_VARIABLE) == "true":
        return Finding(State.MISSING, text, fix)
    return Finding(State.NOTE, f"{text}; the next preview will download it", fix)


def sdk_fix(root: Path, home: Path) -> str:
    """Return how to install the SDK of a plugin version that is in this PULUMI_HOME; empty if it is installed or unknown."""
    try:
        python = look_at_python(Request(root, None, PATIENCE), {})
    except (TrainformError, OSError, ValueError):  # `trainform doctor` shows this error
        return ""
    sdk = python.details.get("pulumi-kubernetes")
    if sdk is None or f"v{sdk}" in plugin_versions(home):
        return ""
    fix = _install_sdk(python.details["path"])
    return f"Python has pulumi-kubernetes {sdk}, but the sandbox's Pulumi has no plugin of that version; to correct it: {fix}"


def _install_sdk(python: str) -> str:
    return shlex.join([python, "-m", "pip", "install", f"pulumi-kubernetes=={PLUGIN_VERSION}"])


def _from_file(version: str) -> list[str]:
    """Return the options to install the plugin without network, if the tool chain has it."""
    tools = _built_pulumi()
    if tools is None or version not in plugin_versions(tools.home):
        return []
    return ["-f", str(tools.home / "plugins" / f"resource-kubernetes-{version}" / PLUGIN)]


def _home() -> Path:
    variable = os.environ.get("PULUMI_HOME")
    return Path(variable) if variable else Path.home() / ".pulumi"


def look_at_state(request: Request, findings: Findings) -> Finding:
    """Check the backend for state, which Pulumi takes from a variable, the project's file, or the last login."""
    credentials = _credentials()
    chosen = (os.environ.get("PULUMI_BACKEND_URL"), backend_url(request.root), credentials.get("current"))
    url = next((str(place) for place in chosen if place), None)
    token = bool(os.environ.get(TOKEN))
    if url is None:
        return Finding(State.OK, f"Pulumi Cloud, with {TOKEN}") if token else Finding(State.MISSING, "not logged in")
    if url.startswith(SERVICES) and not token and not _tokens(credentials).get(url):
        return Finding(State.MISSING, f"not logged in to {url}", shlex.join(["pulumi", "login", url]))
    folder = Path(url.removeprefix("file://").partition("?")[0]).expanduser()
    if url.startswith("file://") and not folder.is_dir():
        return Finding(
            State.MISSING, f"file://{folder}: the folder does not exist", shlex.join(["mkdir", "-p", str(folder)])
        )
    return Finding(State.OK, url.partition("?")[0])  # without the query, which may contain a key of the bucket


def _credentials() -> dict[str, Any]:
    """Return the content of the file that `pulumi login` writes."""
    folder = os.environ.get("PULUMI_CREDENTIALS_PATH")
    try:
        content = json.loads(((Path(folder) if folder else _home()) / "credentials.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _tokens(credentials: dict[str, Any]) -> dict[str, Any]:
    tokens = credentials.get("accessTokens")
    return tokens if isinstance(tokens, dict) else {}
