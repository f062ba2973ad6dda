"""Commands of Pulumi's that a saved review needs: what the backend has of a stack, and `pulumi up`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from trainform.errors import ToolchainError, TrainformError
from trainform.review.run import environ_of_engine, without_secrets
from trainform.signals import ENDING, signal_handler

BACKEND_FIX = "`pulumi stack ls` lists the stacks of the backend that you are logged in to"
OF_SERVICES = ("http", "https")
STANDARD_ERROR = 2


def pulumi() -> str:
    """The path of the program. ToolchainError if there is none."""
    found = shutil.which("pulumi")
    if found is None:
        raise ToolchainError("pulumi is not on PATH", "`trainform doctor` shows how to install it")
    return found


def printed(root: Path, *words: str, text: str | None = None) -> str:
    """What a command prints on standard output. text: for its standard input. TrainformError with what it says if it fails."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    whole, environ = [pulumi(), *words, "--non-interactive", "--color", "never"], environ_of_engine()
    ran: subprocess.CompletedProcess[str] = subprocess.run(
        whole, cwd=root, env=environ, capture_output=True, text=True, check=False, **given
    )
    if ran.returncode != 0:
        errors = [line for line in without_secrets(ran.stderr, environ).splitlines() if line.strip()]
        verb = " ".join(words[:2])
        raise TrainformError(f"`pulumi {verb}` ended with exit code {ran.returncode}", BACKEND_FIX, errors)
    return ran.stdout


def exported(stack: str, root: Path) -> Mapping[str, Any]:
    """What the backend has of the stack; secrets stay encrypted."""
    found: Mapping[str, Any] = json.loads(printed(root, "stack", "export", "-s", stack, "--show-secrets=false"))
    return found


def engine_version(root: Path) -> str:
    """The version of the engine: v3.259.0."""
    return printed(root, "version").strip()


def backend(root: Path) -> str:
    """Where the states of stacks are kept."""
    return place_of_backend(str(json.loads(printed(root, "whoami", "--verbose", "--json"))["url"]))


def place_of_backend(url: str) -> str:
    """The place that the address names. Who is logged in, credentials, and how the place is read are no part of it."""
    parts = urlsplit(url)
    host = _without_login(parts.netloc)
    if parts.scheme in OF_SERVICES:
        return f"{parts.scheme}://{host}"
    at = [f" at {_without_login(endpoint)}" for endpoint in parse_qs(parts.query).get("endpoint", [])]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}{''.join(at)}"


def _without_login(address: str) -> str:
    return address.rpartition("@")[2]


def run_up(stack: str, root: Path, *, beside_data: bool) -> int:
    """Run `pulumi up` to its end, whose output is shown; its exit code. beside_data: standard output is for data, so that it goes to standard error.

    The engine has a session of its own: signals are passed on to it as Ctrl-C, and waited for, so that it stores its state and gives back
    the stack's lock. Only a second one makes it stop at once.
    """
    words = [pulumi(), "up", "--yes", "--skip-preview", "--non-interactive", "-s", stack]
    begun: list[subprocess.Popen[bytes]] = []
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for process in begun:
            _interrupt(process)

    with signal_handler([signal.SIGINT, *ENDING], pass_on):
        begun.append(_start(words, root, beside_data=beside_data))
        if received:
            _interrupt(begun[0])
        code = begun[0].wait()
    if received:
        raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])
    return code


def _start(words: list[str], root: Path, *, beside_data: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        cwd=root,
        env=environ_of_engine(),
        stdin=subprocess.DEVNULL,
        stdout=STANDARD_ERROR if beside_data else None,
        start_new_session=True,
    )


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
