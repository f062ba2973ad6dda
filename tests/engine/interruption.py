"""`pulumi up` in the background, and the loss of power in the middle of it."""

from __future__ import annotations

import os
import signal
import subprocess

import psutil

from tests.engine.project import Project


def start_up(project: Project, stack: str) -> subprocess.Popen[bytes]:
    """`pulumi up` in the background, leader of a process group of its own."""
    words = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "-s", stack]
    return subprocess.Popen(
        words,
        cwd=project.folder,
        env={**project.environ, "PULUMI_SKIP_CHECKPOINTS": "false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the engine and all that it started, as a machine that loses power would."""
    try:
        family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    except psutil.NoSuchProcess:
        return
    for member in family:
        if member.is_running():
            os.kill(member.pid, signal.SIGKILL)
    process.wait()
