"""Make `.venv` from the lock file and install the project into it. Standard library only: it runs before anything is installed.

Does nothing when the environment was made from the same lock, project file and Python. An interrupted run is simply run again:
the mark of a finished one is written last.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MARK = VENV / ".made-from"
OLDEST = (3, 11)
PIP = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]


def wanted() -> str:
    """What the environment is made from, as one hash."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def install(what: str, words: list[str], packages: int) -> None:
    """Run pip; one line says how many packages it has looked at and since when."""
    # a terminal sees every package in one line, a log file a line every ten seconds
    terminal = sys.stderr.isatty()
    clear = "\033[K" if terminal else ""
    every, end = (0.1, f"{clear}\r") if terminal else (10.0, "\n")
    started, seen, last, lines = time.monotonic(), 0, 0.0, []
    process = subprocess.Popen([*PIP, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        seen += line.startswith("Collecting ")
        elapsed = time.monotonic() - started
        if elapsed - last > every:
            last = elapsed
            print(f"{what}: {seen} of {packages} packages, {elapsed:.0f} s", end=end, file=sys.stderr, flush=True)
    if process.wait() != 0:
        sys.exit(f"{''.join(lines[-15:])}\n{what} failed: is a package registry reachable? Then run the command again.")
    print(f"{what}: done in {time.monotonic() - started:.0f} s{clear}", file=sys.stderr)


def main() -> None:
    """Make or renew the environment."""
    if sys.version_info < OLDEST:
        sys.exit(f"trainform needs Python >= 3.11, this is {sys.version.split()[0]}: make PYTHON=python3.12 …")
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("this Python has no ensurepip: apt-get install python3-venv")
    if MARK.exists() and MARK.read_text() == wanted():
        return
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    packages = sum("==" in line for line in (ROOT / "requirements.txt").read_text().splitlines())
    install("[1/2] .venv, locked packages", ["--require-hashes", "-r", "requirements.txt"], packages)
    install("[1/2] .venv, trainform itself", ["--no-deps", "--no-build-isolation", "-e", "."], 1)
    MARK.write_text(wanted())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")
