"""Read files of the user as text. Only regular files of a limited length are read."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from trainform import defaults
from trainform.errors import InputError, Problem

STANDARD_INPUT = "<stdin>"
CHECK_PATH = "check the path and its permissions"
# Reading one of these could block, never end, or change something.
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_read_here: set[tuple[int, int]] = set()
"""Device and inode of each file that this process has read."""


def was_read(path: Path) -> bool:
    """Return True if this process has read the file, by any path."""
    return path.exists() and _identity(path.stat()) in _read_here


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def read_standard_input(largest: int = defaults.LARGEST_FILE) -> str:
    """Return the text on standard input. Raises `InputError` if it is longer than `largest` bytes, or not text."""
    fix = "pipe a file into it"
    if sys.stdin is None:
        raise _refused(STANDARD_INPUT, "standard input is closed", fix)
    try:
        with open(0, "rb", closefd=False) as stream:
            content = _read(stream, largest)
    except OSError as error:
        raise _refused(STANDARD_INPUT, f"standard input cannot be read: {str(error.strerror).lower()}", fix) from None
    if len(content) > largest:
        raise _refused(STANDARD_INPUT, f"the text is longer than {largest >> 20} MiB", "check what is piped into it")
    return _decode(content, STANDARD_INPUT)


def read_text(path: Path, name: str, largest: int = defaults.LARGEST_FILE) -> str:
    """Return the text of the file. Raises `InputError` unless it is a regular file of UTF-8 text, not too long."""
    return _decode(read_bytes(path, name, largest), name)


def read_bytes(path: Path, name: str, largest: int = defaults.LARGEST_FILE) -> bytes:
    """Return the content of the file before it is decoded; fails as `read_text` does."""
    try:
        status = path.stat()
        kind = stat.S_IFMT(status.st_mode)
        if kind != stat.S_IFREG:
            reason = f"the path leads to {KINDS.get(kind, 'something else')}, not to a file"
            raise _refused(name, reason, "give the path of a regular file")
        with path.open("rb") as stream:
            content = _read(stream, largest)
    except OSError as error:
        raise _refused(name, f"the file cannot be read: {_reason(path, error)}", CHECK_PATH) from None
    except ValueError:  # half a character, or NUL
        raise _refused(name, "the file cannot be read: no file has such a name", "correct the path") from None
    if len(content) > largest:
        reason = f"the file is {status.st_size / 1e6:.1f} MB long, and at most {largest >> 20} MiB are read"
        raise _refused(name, reason, "check the path: no such file is so long")
    return content


def _read(stream: BinaryIO, largest: int) -> bytes:
    _read_here.add(_identity(os.fstat(stream.fileno())))
    return stream.read(largest + 1)


def _refused(name: str, reason: str, fix: str) -> InputError:
    return InputError([Problem("", None, reason, fix, name)])


def _reason(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"it is a link to {path.readlink()}, and nothing is there"
    return (error.strerror if error.strerror is not None else str(error)).lower()


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reason = f"the file is not UTF-8 (byte 0x{content[error.start]:02x} at offset {error.start})"
        raise InputError([Problem("", None, reason, "save the file as UTF-8", name, line)]) from None
