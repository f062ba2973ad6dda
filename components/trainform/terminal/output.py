"""`--output FILE`: what a verb prints goes to a file, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from trainform.atomic import replacing
from trainform.errors import InputError, Problem

STANDARD_OUTPUT = "-"
OPTION = "--output"


@contextlib.contextmanager
def output_to(file: str | None, is_input: Callable[[Path], bool]) -> Iterator[None]:
    """Until the block is left, standard output is a new file beside the named one, which then takes its place; where
    an error leaves the block, the named file stays as it was. A link stays one. InputError where nothing can be
    written there, or where `is_input` says that the verb has read that file.
    """
    if file is None or file == STANDARD_OUTPUT:
        yield
        return
    target = Path(os.path.realpath(file))
    mode = _mode(target, file)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(replacing(target, mode))
        except OSError as error:
            raise _not_written(file, error) from None
        with contextlib.redirect_stdout(stream):
            yield
        if is_input(target):
            raise _refused(file, "is a file that was read here, and would be lost", "give the path of another file")


def _mode(target: Path, file: str) -> int | None:
    """The permissions that the file has, None where there is none yet."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_written(file, error) from None
    if stat.S_ISDIR(found):
        raise _refused(file, "is a directory", "give the path of a file in it")
    if not stat.S_ISREG(found):
        raise _refused(file, "is no regular file", "give the path of a file, or `-` for standard output")
    if not os.access(target, os.W_OK):
        raise _refused(file, "may not be written", "give the path of another file, or change its permissions")
    return stat.S_IMODE(found)


def _not_written(file: str, error: OSError) -> InputError:
    return _refused(file, f"cannot be written: {str(error.strerror).lower()}", "correct the path")


def _refused(file: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(OPTION, file, reason, fix)])
