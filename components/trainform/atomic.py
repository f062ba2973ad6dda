"""Atomic writes: a file is written completely or not at all, also after a full disk, Ctrl-C or a crash."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from trainform.errors import TrainformError
from trainform.signals import signal_handler

PRIVATE, ANYONE = 0o600, 0o666
TERMINATING = (signal.SIGTERM, signal.SIGHUP)  # Python raises KeyboardInterrupt for SIGINT
FIX = "nothing was written: make room, or correct its folder's permissions, and run the same command again"


@contextlib.contextmanager
def replacing(path: Path, before: os.stat_result | None = None) -> Iterator[TextIO]:
    """Open a temporary file in the same folder as a text stream. It replaces `path` when the block ends without an error.

    After an error the temporary file is removed and `path` is unchanged. A link is replaced, not followed. `before`: the status of the
    existing file; the new file gets its permissions, and its owner if the process may set it.
    """
    temporary = _temporary_path(path)  # known before the file exists, so that the signal handler can remove it
    with signal_handler(TERMINATING, functools.partial(_exit_at_once, temporary)):
        try:
            temporary.touch(PRIVATE, exist_ok=False)
            with temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                yield stream
                _write_to_disk(stream)
            _set_permissions(temporary, before)
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):  # for example if the folder does not exist
                temporary.unlink()


def _exit_after_signal(number: int, frame: Any) -> None:
    """Raise `SystemExit` with the exit code that shells use for the signal, so that cleanup runs."""
    sys.exit(128 + number)


def _exit_at_once(temporary: Path, number: int, frame: Any) -> None:
    """Remove the temporary file and exit. The block runs code of others, and a library might catch an exception."""
    temporary.unlink(missing_ok=True)
    os._exit(128 + number)


def _set_permissions(path: Path, before: os.stat_result | None) -> None:
    if before is None:
        path.chmod(ANYONE & ~_umask())
        return
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with contextlib.suppress(PermissionError):  # a user who may write in a folder may not own its files
            os.chown(path, owner, group)
    path.chmod(stat.S_IMODE(before.st_mode))


def create_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Create all files (path relative to the folder -> text) and their folders; none of them if an error or a signal ends it.

    Raises `FileExistsError` if one of them exists, and `TrainformError` with its path if one cannot be written. The cleanup is in
    exit stacks, since an `ExitStack` continues with the other callbacks if Ctrl-C interrupts one.
    """
    with (
        signal_handler(TERMINATING, _exit_after_signal),
        contextlib.ExitStack() as folders,
        contextlib.ExitStack() as temporaries,
        contextlib.ExitStack() as placed,
    ):
        temporary_paths = {}
        for path, text in texts.items():
            with _errors_with_path(path):
                _make_folders(folder / path, folders)
                temporary_paths[path] = _temporary_path(folder / path)
                temporaries.callback(temporary_paths[path].unlink, missing_ok=True)
                with temporary_paths[path].open("x", encoding="utf-8") as stream:
                    stream.write(text)
                    _write_to_disk(stream)
        for path, temporary in temporary_paths.items():
            with _errors_with_path(path):
                placed.callback(_remove_if_placed, folder / path, _identity(temporary))
                _move_into_place(temporary, folder / path)
        placed.pop_all()
        folders.pop_all()


def _make_folders(path: Path, undone: contextlib.ExitStack) -> None:
    missing = [above for above in path.parents if not above.exists()]
    for above in reversed(missing):
        undone.callback(_remove_folder, above)
        above.mkdir()


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it was not created, or another process has put a file into it
        folder.rmdir()


def _temporary_path(path: Path) -> Path:
    """Return an unused name in the same folder, so that a rename within one file system can replace `path`."""
    return path.with_name(f".{path.name[:32]}.{os.urandom(4).hex()}")


def _write_to_disk(stream: TextIO) -> None:
    """Flush the stream to the disk, so that a full disk raises an error here, also on file systems that report it late."""
    stream.flush()
    os.fsync(stream.fileno())


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _move_into_place(temporary: Path, path: Path) -> None:
    """Rename the temporary file to `path`; `FileExistsError` if that exists."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        path.touch(exist_ok=False)
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink()
            raise


def _remove_if_placed(path: Path, identity: tuple[int, int]) -> None:
    """Remove the file if it is the one that was created."""
    with contextlib.suppress(FileNotFoundError):
        if _identity(path) == identity:
            path.unlink()


@contextlib.contextmanager
def _errors_with_path(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise TrainformError(f"{path} cannot be written: {str(error.strerror).lower()}", FIX) from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
