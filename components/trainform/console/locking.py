"""A lock on a folder for one process at a time; a waiting process shows which one has it.

The lock belongs to the kernel (`flock`) and ends with its process, so there are no stale locks to remove.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from trainform.console.progress import Progress
from trainform.errors import TrainformError

POLL_SECONDS = 0.1


@contextlib.contextmanager
def hold(path: Path, purpose: str, progress: Progress, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock file `path` inside the block, and wait for it if another process has it.

    Raises `TrainformError` after `timeout` seconds (None: no limit).
    """
    from filelock import FileLock, Timeout  # takes 30 ms

    lock = FileLock(path, mode=0o600)

    def is_acquired(seconds: float) -> bool:
        # In each attempt, since a process that had the lock may have removed the folder.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(Timeout, FileNotFoundError):
            lock.acquire(timeout=seconds, poll_interval=POLL_SECONDS / 2)
            return True
        return False

    if not is_acquired(0):
        end = None if timeout is None else time.monotonic() + timeout
        with progress.step(f"waiting: {_holder(path)} uses {path.parent}") as step:
            while not is_acquired(POLL_SECONDS):
                if end is not None and time.monotonic() > end:
                    raise TrainformError(
                        f"{path.parent} is still in use after {timeout:.0f} s: {_holder(path)}",
                        "wait until it ends, or stop that process; its lock ends with it",
                    )
                step.update(f"waiting: {_holder(path)} uses {path.parent}")
    try:
        path.write_text(f"process {os.getpid()} ({purpose})")
        yield
        with contextlib.suppress(FileNotFoundError):  # the block may have removed the folder
            path.write_text("")
    finally:
        lock.release()


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder itself, which leaves no file there. A file system without such locks (NFS) has none."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text() or "another process"
    return "another process"
