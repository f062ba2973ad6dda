"""A lock on a folder for one process at a time; a process that waits shows which process has the lock.

The lock belongs to the kernel (`flock`): it ends with its process, also after kill -9, so there are no stale locks to remove.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trainform.errors import TrainformError
from trainform.progress import Progress

POLL_SECONDS = 0.1


@contextlib.contextmanager
def hold(path: Path, purpose: str, progress: Progress, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock file `path` inside the block, and wait for it if another process has it.

    Raises `TrainformError` after `timeout` seconds (None: no limit).
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = _try(path)
    if descriptor is None:
        with progress.step(f"waiting: {_holder(path)} uses {path.parent}") as step:
            descriptor = _wait(path, timeout, lambda: step.update(f"waiting: {_holder(path)} uses {path.parent}"))
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} ({purpose})".encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Work in a folder of the user while no other process does so, for as long as it takes to read and write some files. The lock is on the folder itself,
    so that it leaves no file there. Where the file system has no such locks (NFS), there is none."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _try(path: Path) -> int | None:
    """Return a descriptor with the lock, None if another process has it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if _is_current_file(descriptor, path):
            return descriptor
        os.close(descriptor)


def _is_current_file(descriptor: int, path: Path) -> bool:
    # A process that had the lock may have removed the folder: then this lock is on a file that no longer exists.
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _wait(path: Path, timeout: float | None, show: Callable[[], None]) -> int:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = _try(path)
        if descriptor is not None:
            return descriptor
        if end is not None and time.monotonic() > end:
            raise TrainformError(
                f"{path.parent} is still in use after {timeout:.0f} s: {_holder(path)}",
                "wait until it ends, or stop that process; its lock ends with it",
            )
        show()
        time.sleep(POLL_SECONDS)


def _holder(path: Path) -> str:
    try:
        text = path.read_text()
    except FileNotFoundError:
        text = ""
    return text if text else "another process"
