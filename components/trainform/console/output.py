"""`-o FILE`: the output of a command is written to a file, completely or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from trainform.console.atomic import replacing
from trainform.errors import InputError, Problem

STANDARD_OUTPUT = "-"
OPTION = "-o"
PATH_FIX = "give the path of a file, or `-` for standard output"


@contextlib.contextmanager
def output_to(file: str | None, is_input: Callable[[Path], bool]) -> Iterator[None]:
    """Redirect standard output inside the block to a temporary file, which replaces `file` at its end.

    After an error or a signal, `file` is unchanged. Of a link the target is replaced. Raises `InputError` if the file
    cannot be written, or if `is_input` says that the command has read it.
    """
    if file is None or file == STANDARD_OUTPUT:
        yield
        return
    target, before = _target(file)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(replacing(target, before))
        except OSError as error:
            raise _not_written(file, error) from None
        with contextlib.redirect_stdout(stream):
            yield
        if is_input(target):
            reason = "is an input file of this command and would be overwritten"
            raise _refused(file, reason, "give the path of another file")


def target_of(file: str) -> Path:
    """Return the file to write, with all links followed. `InputError` if it exists and cannot be replaced."""
    return _target(file)[0]


def _target(file: str) -> tuple[Path, os.stat_result | None]:
    """Return the target of all links, and its status if it exists."""
    if not file:
        raise _refused(file, "is empty", PATH_FIX)
    if os.path.normpath(file).startswith(("/dev/", "/proc/")):
        # `/dev/stdout` may link to a file that the shell would still write to after it was replaced.
        raise _refused(file, "is not a regular file", PATH_FIX)
    target = Path(os.path.realpath(file))
    try:
        found = target.stat()
    except FileNotFoundError:
        return target, None
    except OSError as error:
        raise _not_written(file, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise _refused(file, "is a directory", "give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise _refused(file, "is not a regular file", PATH_FIX)
    if not os.access(target, os.W_OK):
        raise _refused(file, "is not writable", "give the path of another file, or change its permissions")
    return target, found


def _not_written(file: str, error: OSError) -> InputError:
    return _refused(file, f"cannot be written: {str(error.strerror).lower()}", "correct the path")


def _refused(file: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(OPTION, file, reason, fix)])
