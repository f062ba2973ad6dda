"""Make `.venv` from the lock file and install the project into it. Standard library only: it runs before anything is installed.

Does nothing when the environment was made from the same lock, project file and Python. An interrupted run is simply run again:
the mark of a finished one is written last.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MARK = VENV / ".made-from"
OLDEST = (3, 11)
# Where packages come from is said to pip, in its files or variables.
OF_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


def wanted() -> str:
    """What the environment is made from, as one hash."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def locked(lock: str, package: str) -> str:
    """The lines of one package in the lock: its version and hashes."""
    begin = lock.index(f"\n{package}==") + 1
    return lock[begin : begin + re.search(r"\n(?=\S)|\Z", lock[begin:]).start()]  # type: ignore[union-attr] # \Z is always there


def of_pip(listed: str) -> dict[str, str]:
    """uv's variables for what `pip config list` says; what uv has been told itself stays."""
    found = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        name = OF_PIP.get(key.rpartition(".")[2])
        if name is not None and name not in os.environ:
            found[name] = " ".join(ast.literal_eval(value).split())
    return found


def run(what: str, words: list[str], environ: dict[str, str]) -> None:
    """Run an installer; one line says how long it took."""
    started = time.monotonic()
    print(f"{what} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        words, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{what} failed: is a package registry reachable? Then run the command again.")
    print(f"{what}: done in {time.monotonic() - started:.0f} s", file=sys.stderr)


def make(lock: Path) -> None:
    """An environment with the lock's packages and the project: pip brings uv, which installs the rest in a tenth of pip's time."""
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    python, uv = str(VENV / "bin" / "python"), str(VENV / "bin" / "uv")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    listed = subprocess.run([*pip, "config", "list"], stdout=subprocess.PIPE, text=True, check=True)
    environ = {**os.environ, **of_pip(listed.stdout)}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as first:
        first.write(locked(lock.read_text(), "uv"))
        first.flush()
        run("[1/3] .venv, uv", [*pip, "install", "--no-deps", "--require-hashes", "-r", first.name], environ)
    # compiled here, once: with PYTHONDONTWRITEBYTECODE every process would do it again
    install = [uv, "pip", "install", "--python", python, "--no-progress", "--compile-bytecode"]
    run("[2/3] .venv, locked packages", [*install, "--require-hashes", "-r", str(lock)], environ)
    run("[3/3] .venv, trainform itself", [*install, "--no-deps", "--no-build-isolation", "-e", "."], environ)


def main() -> None:
    """Make or renew the environment."""
    if sys.version_info < OLDEST:
        sys.exit(f"trainform needs Python >= 3.11, this is {sys.version.split()[0]}: make PYTHON=python3.12 …")
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("this Python has no ensurepip: apt-get install python3-venv")
    if MARK.exists() and MARK.read_text() == wanted():
        return
    make(ROOT / "requirements.txt")
    MARK.write_text(wanted())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")
