"""`pulumi up` in the background, and the loss of power in the middle of it."""

from __future__ import annotations

import contextlib
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
    with contextlib.suppress(psutil.NoSuchProcess):
        engine = psutil.Process(process.pid)
        engine.suspend()  # it must not see that its children are gone, and tidy up
        for member in [*engine.children(recursive=True), engine]:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
    process.wait()
