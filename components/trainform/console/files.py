"""Files of the user: read as text up to a limit; written whole or not at all, also after a signal or a full disk."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from trainform import defaults
from trainform.console.signals import ENDING, exit_on_termination, signal_handler
from trainform.errors import InputError, Problem, TrainformError

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


STANDARD_OUTPUT = "-"
OPTION = "-o"
PATH_FIX = "give the path of a file, or `-` for standard output"


@contextlib.contextmanager
def output_to(file: str | None, option: str = OPTION) -> Iterator[None]:
    """Redirect standard output inside the block to a temporary file, which replaces `file` at its end.

    After an error or a signal, `file` is unchanged. Of a link the target is replaced. Raises `InputError` for `option`
    if the file cannot be written, or if this process has read it.
    """
    if file is None or file == STANDARD_OUTPUT:
        yield
        return
    target, before = target_of(file, option)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(replacing(target, before))
        except OSError as error:
            raise _not_written(option, file, error) from None
        with contextlib.redirect_stdout(stream):
            yield
        if was_read(target):
            reason = "is an input file of this command and would be overwritten"
            raise _refused(option, file, reason, "give the path of another file")


def target_of(file: str, option: str = OPTION) -> tuple[Path, os.stat_result | None]:
    """Return the target of all links, and its status if it exists. Raises `InputError` if it cannot be written."""
    if not file:
        raise _refused(option, file, "is empty", PATH_FIX)
    if os.path.normpath(file).startswith(("/dev/", "/proc/")):
        # `/dev/stdout` may link to a file that the shell would still write to after it was replaced.
        raise _refused(option, file, "is not a regular file", PATH_FIX)
    target = Path(os.path.realpath(file))
    try:
        found = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise _refused(option, file, "its folder does not exist", "make the folder, or correct the path") from None
        return target, None
    except OSError as error:
        raise _not_written(option, file, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise _refused(option, file, "is a directory", "give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise _refused(option, file, "is not a regular file", PATH_FIX)
    if not os.access(target, os.W_OK):
        raise _refused(option, file, "is not writable", "give the path of another file, or change its permissions")
    return target, found


def _not_written(option: str, file: str, error: OSError) -> InputError:
    return _refused(option, file, f"cannot be written: {str(error.strerror).lower()}", "correct the path")


def _refused(option: str, file: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(option, file, reason, fix)])


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
        raise _not_read(STANDARD_INPUT, "standard input is closed", fix)
    try:
        with open(0, "rb", closefd=False) as stream:
            content = _read(stream, largest)
    except OSError as error:
        raise _not_read(STANDARD_INPUT, f"standard input cannot be read: {str(error.strerror).lower()}", fix) from None
    if len(content) > largest:
        raise _not_read(STANDARD_INPUT, f"the text is longer than {largest >> 20} MiB", "check what is piped into it")
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
            raise _not_read(name, reason, "give the path of a regular file")
        with path.open("rb") as stream:
            content = _read(stream, largest)
    except OSError as error:
        raise _not_read(name, f"the file cannot be read: {_reason(path, error)}", CHECK_PATH) from None
    except ValueError:  # half a character, or NUL
        raise _not_read(name, "the file cannot be read: no file has such a name", "correct the path") from None
    if len(content) > largest:
        reason = f"the file is {status.st_size / 1e6:.1f} MB long, and at most {largest >> 20} MiB are read"
        raise _not_read(name, reason, "check the path: no such file is so long")
    return content


def _read(stream: BinaryIO, largest: int) -> bytes:
    _read_here.add(_identity(os.fstat(stream.fileno())))
    return stream.read(largest + 1)


def _not_read(name: str, reason: str, fix: str) -> InputError:
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
