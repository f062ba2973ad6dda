"""Create `.venv` from the lock file and install the project into it. Standard library only: it runs before anything is
installed.

It does nothing if the environment was made from the same lock file, project file and Python. After an interruption or a
failure it starts again: the mark of a complete environment is taken away first and written last.
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
# Users configure package registries for pip, in its files or variables; uv gets the same settings.
UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


def inputs_hash() -> str:
    """Return a hash of what the environment is made from."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def locked(lock: str, package: str) -> str:
    """Return the lines of one package in the lock file: version and hashes."""
    begin = lock.index(f"\n{package}==") + 1
    return lock[begin : begin + re.search(r"\n(?=\S)|\Z", lock[begin:]).start()]  # type: ignore[union-attr] # \Z is always there


def uv_variables(listed: str) -> dict[str, str]:
    """Return uv's variables for the output of `pip config list`, without those that are set already."""
    found = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        name = UV_VARIABLES.get(key.rpartition(".")[2])
        if name is not None and name not in os.environ:
            found[name] = " ".join(ast.literal_eval(value).split())
    return found


def output(what: str, words: list[str], environ: dict[str, str], fix: str) -> str:
    """Run a program, and return what it prints; exit with that and the fix if it fails."""
    done = subprocess.run(
        words, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{what} failed: {fix}")
    return done.stdout


def run(what: str, words: list[str], environ: dict[str, str]) -> None:
    """Run an installer, and print one line with its duration; exit with its output if it fails."""
    started = time.monotonic()
    print(f"{what} …", file=sys.stderr, flush=True)
    output(what, words, environ, "is a package registry reachable? Then run the command again.")
    print(f"{what}: done in {time.monotonic() - started:.0f} s", file=sys.stderr)


def make(lock: Path) -> None:
    """Create an environment with the locked packages and the project. pip installs uv, which installs the rest ten
    times faster."""
    # without --clear, an environment of another Python keeps its links to that one
    created = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    output(".venv", created, dict(os.environ), "try another Python: make PYTHON=python3.12 …")
    python, uv = str(VENV / "bin" / "python"), str(VENV / "bin" / "uv")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    listed = output(
        ".venv, settings of pip", [*pip, "config", "list"], dict(os.environ), "correct pip's configuration."
    )
    environ = {**os.environ, **uv_variables(listed)}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as first:
        first.write(locked(lock.read_text(), "uv"))
        first.flush()
        run("[1/3] .venv, uv", [*pip, "install", "--no-deps", "--require-hashes", "-r", first.name], environ)
    # compiled once here: with PYTHONDONTWRITEBYTECODE every process would compile again
    install = [uv, "pip", "install", "--python", python, "--no-progress", "--compile-bytecode"]
    run("[2/3] .venv, locked packages", [*install, "--require-hashes", "-r", str(lock)], environ)
    run("[3/3] .venv, trainform itself", [*install, "--no-deps", "--no-build-isolation", "-e", "."], environ)


def main() -> None:
    """Create or renew the environment."""
    if sys.version_info < OLDEST:
        sys.exit(f"trainform needs Python >= 3.11, this is {sys.version.split()[0]}: make PYTHON=python3.12 …")
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("this Python has no ensurepip: apt-get install python3-venv")
    if MARK.exists() and MARK.read_text() == inputs_hash():
        return
    MARK.unlink(missing_ok=True)
    make(ROOT / "requirements.txt")
    MARK.write_text(inputs_hash())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")
