"""Commands of Pulumi's that a saved review needs beside a stack's state: its version, the place of its states, and
`pulumi up`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from types import FrameType
from urllib.parse import parse_qs, urlsplit

from trainform.deployed.engine import environ_of_engine, printed, pulumi
from trainform.signals import ENDING, signal_handler

OF_SERVICES = ("http", "https")
STANDARD_ERROR = 2


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
    """Run `pulumi up` to its end, whose output is shown; its exit code. beside_data: standard output is for data, so
    that it goes to standard error.

    The engine has a session of its own: signals are passed on to it as Ctrl-C, and waited for, so that it stores its
    state and gives back the stack's lock. Only a second one makes it stop at once.
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
