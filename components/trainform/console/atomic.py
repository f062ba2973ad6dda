"""Atomic writes: a file is written completely or not at all, also after a full disk, Ctrl-C or a signal."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from trainform.console.signals import ENDING, exit_on_termination, signal_handler
from trainform.errors import TrainformError

PRIVATE, ANYONE = 0o600, 0o666
FIX = "nothing was written: make room, or correct its folder's permissions, and run the same command again"


@contextlib.contextmanager
def replacing(path: Path, before: os.stat_result | None = None) -> Iterator[TextIO]:
    """Open a temporary file as a text stream, which replaces `path` when the block ends without an error.

    A link is replaced, not followed. `before`: the status of the existing file; the new file gets its permissions, and
    its owner if the process may set it.
    """
    temporary = path.with_name(f".{path.name[:32]}.{os.urandom(4).hex()}")
    with signal_handler(ENDING, functools.partial(_exit_at_once, temporary)):
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


def _exit_at_once(temporary: Path, number: int, frame: Any) -> None:
    """Remove the temporary file and exit. The block runs code of others, and a library might catch an exception."""
    temporary.unlink(missing_ok=True)
    os._exit(128 + number)


def _set_permissions(path: Path, before: os.stat_result | None) -> None:
    if before is None:
        mask = os.umask(0o077)
        os.umask(mask)
        path.chmod(ANYONE & ~mask)
        return
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with contextlib.suppress(PermissionError):  # a user who may write in a folder may not own its files
            os.chown(path, owner, group)
    path.chmod(stat.S_IMODE(before.st_mode))


def create_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Create all files (path relative to the folder -> text) and their folders, or none of them.

    Raises `FileExistsError` if one of them exists, and `TrainformError` with its path if one cannot be written.
    """
    with exit_on_termination(), contextlib.ExitStack() as created:
        for path, text in texts.items():
            try:
                for above in reversed((folder / path).parents):
                    if not above.exists():
                        above.mkdir()
                        created.callback(_remove_folder, above)
                with (folder / path).open("x", encoding="utf-8") as stream:
                    created.callback((folder / path).unlink, missing_ok=True)
                    stream.write(text)
                    _write_to_disk(stream)
            except FileExistsError:
                raise
            except OSError as error:
                raise TrainformError(f"{path} cannot be written: {str(error.strerror).lower()}", FIX) from error
        created.pop_all()


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # another process has put a file into it
        folder.rmdir()


def _write_to_disk(stream: TextIO) -> None:
    """Flush the stream to the disk, so that a full disk raises an error here on every file system."""
    stream.flush()
    os.fsync(stream.fileno())
