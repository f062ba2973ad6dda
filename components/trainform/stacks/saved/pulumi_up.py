"""Pulumi's version, the place of its states, and `pulumi up`."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import FrameType
from urllib.parse import parse_qs, urlsplit

from trainform.console.signals import ENDING, signal_handler
from trainform.deployed.engine import backend_url, engine_environ, printed, pulumi

SERVICE_SCHEMES = ("http", "https")
STANDARD_ERROR = 2


def engine_version(root: Path) -> str:
    """Return the version of the engine: v3.259.0."""
    return printed(root, "version").strip()


def backend(root: Path) -> str:
    """Return where the states of stacks are kept."""
    return place_of_backend(backend_url(root))


def place_of_backend(url: str) -> str:
    """Return the place that the address names, without credentials and options."""
    parts = urlsplit(url)
    path = "" if parts.scheme in SERVICE_SCHEMES else parts.path.rstrip("/")
    at = [f" at {endpoint.rpartition('@')[2]}" for endpoint in parse_qs(parts.query).get("endpoint", [])]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}{''.join(at)}"


def run_up(stack: str, root: Path, *, prints_data: bool) -> int:
    """Run `pulumi up` and return its exit code. prints_data: its output goes to standard error.

    The engine has its own session. A signal is passed on as Ctrl-C, so that it stores its state and releases the lock.
    Just before and just after its update, a signal ends it at once: the lock may stay.
    """
    words = [pulumi(), "up", "--yes", "--skip-preview", "--non-interactive", "-s", stack]
    process: subprocess.Popen[bytes] | None = None
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)

    with signal_handler([signal.SIGINT, *ENDING], pass_on):
        process = subprocess.Popen(
            words,
            cwd=root,
            env=engine_environ(),
            stdin=subprocess.DEVNULL,
            stdout=STANDARD_ERROR if prints_data else None,
            start_new_session=True,
        )
        if received:  # before it was known
            os.killpg(process.pid, signal.SIGINT)
        code = process.wait()
    if received:
        raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])
    return code
