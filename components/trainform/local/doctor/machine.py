"""Checks of this machine: the project's Python, Pulumi and its login, Docker, and the tool chain."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from trainform.errors import shorten
from trainform.local.doctor.check_runs import Finding, Findings, Request, State
from trainform.local.toolchain.cache import cache_folder, toolchain_folder
from trainform.local.toolchain.ensure import pending_work, ready_pulumi
from trainform.local.toolchain.parts import PLUGIN_VERSION, build_time
from trainform.local.toolchain.system import parse_version, plugin_versions, version_problem

PACKAGES = ("trainform", "pulumi", "pulumi-kubernetes", "pip")  # Pulumi runs `pip list` before each program
ASK_PYTHON = f"""
import importlib.metadata, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({{"python": sys.version.split()[0], **{{name: version(name) for name in {PACKAGES!r}}}}}))
"""
GET_PULUMI = "trainform toolchain ensure --pulumi-only"
QUERY = re.compile(r"\?[^\s\"']*")  # of an address, which may contain a key of the bucket


def run_program(command: list[str], seconds: float, folder: Path = Path("/")) -> subprocess.CompletedProcess[str]:
    """Run a command, by default outside of the project. Raises an error if it takes longer."""
    environ = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    return subprocess.run(
        command,
        env=environ,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
        text=True,
        errors="replace",
    )


# --- Python


def look_at_python(request: Request, findings: Findings) -> Finding:
    """Check the Python of the program and its packages, whose versions are the details."""
    python = _interpreter(request.root)
    if shutil.which(python) is None:
        return Finding(State.MISSING, f"there is no {python}", f"make it, and {_packages_fix(request.root)}")
    details = json.loads(run_program([str(python), "-c", ASK_PYTHON], request.timeout).stdout)
    details["path"] = str(python)
    found = f"{details['python']}, {python}"
    absent = [name for name in PACKAGES[:3] if details[name] is None]
    if absent:
        return Finding(State.MISSING, f"{found} has no {', '.join(absent)}", _packages_fix(request.root), details)
    if details["pip"] is None and not _uses_uv(request.root):
        fix = f"{shlex.quote(str(python))} -m ensurepip"
        return Finding(
            State.MISSING, f"{found} has no pip, and Pulumi runs `pip list` before each program", fix, details
        )
    return Finding(State.OK, found, details=details, brief=f"python {details['python']}")


def _packages_fix(root: Path) -> str:
    in_clone = (root / "tools" / "venv.py").is_file()
    return "make venv" if in_clone else "install trainform into it, as it was installed for this command"


def _interpreter(root: Path) -> Path:
    """Return the Python with which Pulumi runs the project's program; outside of a project, that of this process."""
    name = _option(root, "virtualenv")
    if name is not None or _uses_uv(root):
        return root / str(".venv" if name is None else name) / "bin" / "python"
    if not (root / "Pulumi.yaml").is_file():
        return Path(sys.executable)
    chosen = os.environ.get("PULUMI_PYTHON_CMD")
    found = (shutil.which(word) for word in ([chosen] if chosen else ["python3", "python"]))
    return Path(next((path for path in found if path is not None), "python3"))


def _uses_uv(root: Path) -> bool:
    return bool(_option(root, "toolchain") == "uv")


def _option(root: Path, name: str) -> Any:
    """Return an option of the runtime in Pulumi.yaml, None if there is none."""
    try:
        return yaml.safe_load((root / "Pulumi.yaml").read_bytes())["runtime"]["options"].get(name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError):
        return None


# --- Pulumi


def look_at_pulumi(request: Request, findings: Findings) -> Finding:
    """Check the command pulumi, its Python language host, and the plugin of its Kubernetes provider."""
    command = shutil.which("pulumi")
    if command is None:
        tools = ready_pulumi(("download", "build"), toolchain_folder())
        if tools is None:
            return Finding(State.MISSING, "not on PATH", GET_PULUMI)
        fix = f'export PATH="{tools.bin}:$PATH" PULUMI_HOME="{tools.home}"'
        return Finding(State.MISSING, f"not on PATH, but installed in {tools.bin}", fix)
    answer = shorten(run_program([command, "version"], request.timeout).stdout.strip())
    if (old := version_problem(command, parse_version(answer))) is not None:
        return Finding(State.MISSING, old, f"update it, or: {GET_PULUMI}")
    # The tool chain's Pulumi downloads no plugin for another version of the SDK.
    python, home = findings["python"].details, _home()
    sdk = python.get("pulumi-kubernetes")
    if sdk is not None and home.is_relative_to(cache_folder()) and f"v{sdk}" not in plugin_versions(home):
        text = f"Python has pulumi-kubernetes {sdk}, but the sandbox's Pulumi has no plugin of that version"
        fix = shlex.join([python["path"], "-m", "pip", "install", f"pulumi-kubernetes=={PLUGIN_VERSION}"])
        return Finding(State.MISSING, text, fix)
    return Finding(State.OK, f"{answer}, {command}", brief=f"pulumi {answer}")


def _home() -> Path:
    variable = os.environ.get("PULUMI_HOME")
    return Path(variable) if variable else Path.home() / ".pulumi"


def look_at_login(request: Request, findings: Findings) -> Finding:
    """Ask Pulumi for the backend that has the states of stacks."""
    command = [str(shutil.which("pulumi")), "whoami", "--json", "--non-interactive"]
    ran = run_program(command, request.timeout, request.root)
    if ran.returncode != 0:
        return Finding(State.MISSING, QUERY.sub("", ran.stderr.strip().removeprefix("error: ")))
    return Finding(State.OK, QUERY.sub("", json.loads(ran.stdout)["url"]))


# --- Docker and the tool chain


def look_at_docker(request: Request, findings: Findings) -> Finding:
    """Check the Docker daemon that a rehearsal uses."""
    from trainform.local.docker_daemon import daemon_version

    version = daemon_version(max(1, round(request.timeout)))
    return Finding(State.OK, f"daemon {version}", brief=f"docker {version}")


def look_at_tool_chain(request: Request, findings: Findings) -> Finding:
    """Check Pulumi and the control plane in the cache, as `trainform toolchain ensure` installs them."""
    missing = pending_work()
    if not missing.names:
        return Finding(State.OK, f"complete, {toolchain_folder()}", brief="tool chain")
    if not missing.parts:
        return Finding(State.MISSING, f"not installed: {', '.join(missing.names)}; they would be downloaded")
    names = ", ".join(part.folder for part in missing.parts)
    return Finding(State.MISSING, f"not built: {names}; {build_time(missing.parts)}, once")
