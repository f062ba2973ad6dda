"""Other tools for the same task: torchx in its own environment, and kubectl."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.commands import REPOSITORY, Command, run
from bench.shapes import ACCELERATORS_PER_POD, PODS, experiment_of
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.toolchain.cache import cache_folder

LOCK = REPOSITORY / "requirements-bench.txt"
MARK = ".complete"


def ensure_torchx(progress: Progress) -> Path:
    """The command `torchx` of the locked version, installed once into trainform's cache, since its dependencies
    differ."""
    digest = hashlib.sha256(sys.version.encode() + LOCK.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / f"bench-{digest}"
    torchx = folder / "bin" / "torchx"
    with hold(cache_folder() / "bench.lock", "installing torchx", progress):
        if not (folder / MARK).exists():
            # not renamed later, since the scripts of a virtual environment contain its path
            shutil.rmtree(folder, ignore_errors=True)
            with progress.step("torchx: installing its locked packages, once"):
                _pip(folder)
            (folder / MARK).touch()
    return torchx


def _pip(folder: Path) -> None:
    steps = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--require-hashes", "--no-input", "-r", str(LOCK)],
    ]
    for words in steps:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            end = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).strip().splitlines()[-10:])
            raise TrainformError(
                f"torchx cannot be installed:\n{end}",
                "check that a package registry can be reached, then run `make bench` again",
            )


def torchx_version() -> str:
    """Return the locked version."""
    line = next(line for line in LOCK.read_text().splitlines() if line.startswith("torchx=="))
    return line.split()[0].removeprefix("torchx==")


def torchx_dry_run(torchx: Path, folder: Path) -> Command:
    """Return a dry run of sdxl-lora with what torchx can express: four nodes of eight, image, script, arguments,
    environment and mounts.

    It knows no host network, no RDMA resource of this name, no claims to be made and no launch script. The empty
    workspace keeps it from building an image, and the empty folder from reading a `.torchxconfig`.
    """
    experiment = experiment_of(PODS)
    launcher, environ = experiment["launcher"]["accelerate"], experiment["env"]
    # torchx passes the whole command line through a shell, in which $(NAME) has another meaning
    arguments = [re.sub(r"^\$\((\w+)\)$", lambda match: str(environ[match[1]]), word) for word in launcher["args"]]
    mounts = [f"type=volume,src={name},dst={each['mount']}" for name, each in experiment["storage"].items()]
    words = [str(torchx), "run", "--scheduler", "kubernetes", "--dryrun", "--workspace="]
    words += ["--scheduler_args", f"queue={experiment['queue']},namespace=default", "dist.ddp"]
    words += ["--name", experiment["name"], "--image", experiment["image"], "--script", launcher["script"]]
    words += ["-j", f"{PODS}x{ACCELERATORS_PER_POD}", "--gpu", str(ACCELERATORS_PER_POD)]
    words += ["--env", ",".join(f"{name}={value}" for name, value in environ.items())]
    words += ["--mounts", ",".join(mounts), "--", *arguments]
    return Command("`torchx run --dryrun`", tuple(words), folder)


def find_kubectl() -> Path | None:
    """Return kubectl on PATH, None if there is none. It cannot be built from the sandbox's pins, which lack
    k8s.io/cli-runtime."""
    found = shutil.which("kubectl", path=os.environ.get("PATH", os.defpath))
    return None if found is None else Path(found)


def kubectl_diff(kubectl: Path, manifests: Path, context: str, folder: Path, environ: Mapping[str, str]) -> Command:
    """Return a command that compares the rendered manifests with the live objects; exit code 1 means a difference."""
    words = [str(kubectl), "diff", "--server-side", "--context", context, "--cache-dir", str(folder / "kubectl-cache")]
    return Command("`kubectl diff --server-side`", (*words, "-f", str(manifests)), folder, environ, codes=(0, 1))


def kubectl_version(kubectl: Path) -> str:
    """Return the version of kubectl, without the name of its build."""
    words = (str(kubectl), "version", "--client", "--output", "json")
    answer = json.loads(run(Command("kubectl version", words, REPOSITORY))[1])
    return str(answer["clientVersion"]["gitVersion"]).removeprefix("v").partition("-")[0]
