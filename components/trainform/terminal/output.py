"""`--output FILE`: the output of a command is written to a file, completely or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from trainform.atomic import replacing
from trainform.errors import InputError, Problem

STANDARD_OUTPUT = "-"
OPTION = "--output"
PATH_FIX = "give the path of a file, or `-` for standard output"
_MAX_LINKS = 40  # the limit of Linux
_DESCRIPTOR_FOLDERS = re.compile(r"/dev/fd|/proc/[^/]+(/task/[^/]+)?/fd")


@contextlib.contextmanager
def output_to(file: str | None, is_input: Callable[[Path], bool]) -> Iterator[None]:
    """Redirect standard output inside the block to a temporary file, which replaces `file` at the end of the block.

    After an error or a signal, `file` is unchanged. If it is a link, its target is replaced; the owner stays the same if the process may
    set it. Raises `InputError` if the file cannot be written, or if `is_input` says that the command has read it.
    """
    if file is None or file == STANDARD_OUTPUT:
        yield
        return
    target = _target(file)
    before = _status(target, file)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(replacing(target, before))
        except OSError as error:
            raise _not_written(file, error) from None
        with contextlib.redirect_stdout(stream):
            yield
        if is_input(target):
            raise _refused(
                file, "is an input file of this command and would be overwritten", "give the path of another file"
            )


def target_of(file: str) -> Path:
    """Return the file that would be written, with all links followed. Raises `InputError` if it is there and cannot be replaced."""
    target = _target(file)
    _status(target, file)
    return target


def _target(file: str) -> Path:
    """Return the target of all links. Raises `InputError` for an open file of a process: `/dev/stdout` links to a file that the shell
    would still write to after it was replaced, or to a deleted file."""
    if not file:
        raise _refused(file, "is empty", PATH_FIX)
    path = Path(file)
    for _ in range(_MAX_LINKS):
        folder = os.path.realpath(path.parent)
        if _DESCRIPTOR_FOLDERS.fullmatch(folder):
            raise _refused(file, "is an open file of a process, not the path of a file", PATH_FIX)
        path = Path(folder, path.name)
        if not os.path.islink(path):  # noqa: PTH114 - it returns False if the name is too long
            break
        path = Path(folder, path.readlink())
    return Path(os.path.realpath(file))


def _status(target: Path, file: str) -> os.stat_result | None:
    """Return the status of the file, None if it does not exist. Raises `InputError` if it cannot be replaced."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_written(file, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise _refused(file, "is a directory", "give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise _refused(file, "is not a regular file", PATH_FIX)
    if not os.access(target, os.W_OK):
        raise _refused(file, "is not writable", "give the path of another file, or change its permissions")
    return found


def _not_written(file: str, error: OSError) -> InputError:
    return _refused(file, f"cannot be written: {str(error.strerror).lower()}", "correct the path")


def _refused(file: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(OPTION, file, reason, fix)])
