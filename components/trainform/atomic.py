"""Files that are written whole or not at all, whatever ends the writing: a full disk, Ctrl-C, a crash."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from trainform.errors import TrainformError
from trainform.signals import handled

PRIVATE, ANYONE = 0o600, 0o666
ENDS = (signal.SIGTERM, signal.SIGHUP)  # of SIGINT Python makes an exception by itself
AGAIN = "nothing was written: make room, or correct its folder's permissions, and run the same command again"


@contextlib.contextmanager
def replacing(path: Path, before: os.stat_result | None = None) -> Iterator[TextIO]:
    """A new file beside this one, as a stream of text. Where the block ends without an error it takes the place of this one; else it goes,
    and this one stays as it was. A link is replaced, not followed. before: of the file that is there, whose permissions the new one gets,
    and its owner where the process may set it.
    """
    temporary = _beside(path)  # the name is there before the file is: no signal comes in between
    with handled(ENDS, functools.partial(_end_at_once, temporary)):
        try:
            temporary.touch(PRIVATE, exist_ok=False)
            with temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                yield stream
                _to_disk(stream)
            _give(temporary, before)
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):  # as where there is no such folder
                temporary.unlink()


def _end(number: int, frame: Any) -> None:
    """The process ends with the exit code that shells report for the signal, and leaves nothing behind."""
    sys.exit(128 + number)


def _end_at_once(temporary: Path, number: int, frame: Any) -> None:
    """The same where the block is somebody else's code: an exception might meet a library that takes it for its own."""
    temporary.unlink(missing_ok=True)
    os._exit(128 + number)


def _give(written: Path, before: os.stat_result | None) -> None:
    if before is None:
        written.chmod(ANYONE & ~_umask())
        return
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with contextlib.suppress(PermissionError):  # who may write in a folder need not be the owner of the files in it
            os.chown(written, owner, group)
    written.chmod(stat.S_IMODE(before.st_mode))


def create_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Make all of these files, by path from the folder, and the folders that they need; or none where an error or a signal ends it.

    FileExistsError where one of them is there by now, TrainformError with its path where one cannot be written. An ExitStack goes on
    with the rest where Ctrl-C meets it at work.
    """
    with (
        handled(ENDS, _end),
        contextlib.ExitStack() as folders,
        contextlib.ExitStack() as temporaries,
        contextlib.ExitStack() as placed,
    ):
        written = {}
        for path, text in texts.items():
            with _named(path):
                _make_folders(folder / path, folders)
                written[path] = _beside(folder / path)
                temporaries.callback(written[path].unlink, missing_ok=True)
                with written[path].open("x", encoding="utf-8") as stream:
                    stream.write(text)
                    _to_disk(stream)
        for path, temporary in written.items():
            with _named(path):
                placed.callback(_take_back, folder / path, _identity(temporary))
                _place(temporary, folder / path)
        placed.pop_all()
        folders.pop_all()


def _make_folders(path: Path, undone: contextlib.ExitStack) -> None:
    missing = [above for above in path.parents if not above.exists()]
    for above in reversed(missing):
        undone.callback(_remove_folder, above)
        above.mkdir()


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it was not made, or somebody else has a file in it
        folder.rmdir()


def _beside(path: Path) -> Path:
    """A name in the same folder, so that the file can take the other one's place in one step."""
    return path.with_name(f".{path.name[:32]}.{secrets.token_hex(4)}")


def _to_disk(stream: TextIO) -> None:
    """So that a full disk is told here, also by file systems that notice late."""
    stream.flush()
    os.fsync(stream.fileno())


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _place(temporary: Path, path: Path) -> None:
    """Give the file its name, unless another one has it: FileExistsError."""
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


def _take_back(path: Path, identity: tuple[int, int]) -> None:
    """Remove the file if it is the one that was placed."""
    with contextlib.suppress(FileNotFoundError):
        if _identity(path) == identity:
            path.unlink()


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise TrainformError(f"{path} cannot be written: {str(error.strerror).lower()}", AGAIN) from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
