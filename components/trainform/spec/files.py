"""Read a file of the user as text. Only regular files are read, and only up to the length of a file that a person writes."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from trainform import defaults
from trainform.errors import InputError, Problem

# What else a path may lead to. To read one could wait for ever, never end, or change something.
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
STANDARD_INPUT = "<stdin>"
CHECK_PATH = "check the path and its permissions"


class _RefusedError(Exception):
    """Reason and fix: why a file is not read."""


Identity = tuple[int, int]
"""Device and inode."""
_read_here: dict[Identity, set[str | int]] = {}
"""What this process has read: by which paths, from the root on, or by which number of an open file."""


def was_read(path: Path) -> bool:
    """Whether this process has read the file, by whatever path. The inode alone does not say it: once a file is deleted, the next one may have its inode."""
    identity = _identity(path)
    return identity is not None and any(_identity(place) == identity for place in _read_here.get(identity, ()))


def _identity(place: str | int | Path) -> Identity | None:
    """None if nothing is there."""
    try:
        return _identity_of(os.fstat(place) if isinstance(place, int) else Path(place).stat())
    except OSError:
        return None


def _identity_of(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _remember(status: os.stat_result, place: str | int) -> None:
    _read_here.setdefault(_identity_of(status), set()).add(place)


def read_standard_input(largest: int = defaults.LARGEST_FILE) -> str:
    """The text on standard input, to its end. Raises InputError if it is longer than `largest` bytes, or not text."""
    try:
        if sys.stdin is None:  # what has its number now is another file
            raise _RefusedError("standard input is closed", "pipe a file into it")
        found = os.fstat(0)
        content = _up_to(0, largest + 1)
        _remember(found, 0)
        if len(content) > largest:
            raise _RefusedError(f"the text is longer than {largest >> 20} MiB", "check what is piped into it")
    except OSError as error:
        refused = _RefusedError(f"standard input cannot be read: {str(error.strerror).lower()}", "pipe a file into it")
    except _RefusedError as error:
        refused = error
    else:
        return _decoded(content, STANDARD_INPUT)
    reason, fix = refused.args
    raise InputError([Problem("", None, reason, fix, STANDARD_INPUT)])


def read_text(path: Path, name: str, largest: int = defaults.LARGEST_FILE) -> str:
    """The text of the file, links followed. Raises InputError if it is not a regular file, longer than `largest` bytes, or not text."""
    return _decoded(read_bytes(path, name, largest), name)


def read_bytes(path: Path, name: str, largest: int = defaults.LARGEST_FILE) -> bytes:
    """The content of the file before it is decoded; fails as `read_text` does."""
    try:
        return _read(path, largest)
    except _RefusedError as refused:
        reason, fix = refused.args
        raise InputError([Problem("", None, reason, fix, name)]) from None


def _read(path: Path, largest: int) -> bytes:
    try:
        _refuse_others(path.stat())
        # What the path leads to may have become another file by now: a pipe must not make us wait, and is looked at again.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            _refuse_others(found)
            content = _up_to(descriptor, largest + 1)
            _remember(found, str(path.absolute()))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _RefusedError(f"the file cannot be read: {_reason(path, error)}", CHECK_PATH) from None
    except ValueError:  # half a character, or NUL
        raise _RefusedError("the file cannot be read: no file has such a name", "correct the path") from None
    if len(content) > largest:
        # a file that grows may be longer by now than its status says
        size = max(found.st_size, len(content))
        raise _RefusedError(
            f"the file is {size / 1e6:.1f} MB long, and at most {largest >> 20} MiB are read",
            "check the path: no such file is so long",
        )
    return content


def _refuse_others(found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise _RefusedError(
            f"the path leads to {KINDS.get(kind, 'something else')}, not to a file", "give the path of a regular file"
        )


def _up_to(descriptor: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(descriptor, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _reason(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"it is a link to {path.readlink()}, and nothing is there"
    return (error.strerror if error.strerror is not None else str(error)).lower()


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reason = f"the file is not UTF-8 (byte 0x{content[error.start]:02x} at offset {error.start})"
        raise InputError([Problem("", None, reason, "save the file as UTF-8", name, line)]) from None
