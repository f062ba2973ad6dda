"""`--output FILE`: what a verb prints goes to a file, written whole or not at all."""

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
ANOTHER = "give the path of a file, or `-` for standard output"
_MOST_LINKS = 40  # as Linux follows
_OPEN_FILES = re.compile(r"/dev/fd|/proc/[^/]+(/task/[^/]+)?/fd")


@contextlib.contextmanager
def output_to(file: str | None, is_input: Callable[[Path], bool]) -> Iterator[None]:
    """Until the block is left, standard output is a new file beside the named one, which then takes its place; where
    an error or a signal leaves the block, the named file stays as it was. A link stays one, and the owner stays where the
    process may set it. InputError where nothing can be written there, or where `is_input` says that the verb has read that
    file.
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
            raise _refused(file, "is a file that was read here, and would be lost", "give the path of another file")


def _target(file: str) -> Path:
    """The file behind every link. One that a process holds open is none: the link of `/dev/stdout` names a file that the shell
    would go on writing to after another one has taken its place, or one that is deleted."""
    if not file:
        raise _refused(file, "is empty", ANOTHER)
    path = Path(file)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if _OPEN_FILES.fullmatch(folder):
            raise _refused(file, "is an open file of a process, not the path of a file", ANOTHER)
        path = Path(folder, path.name)
        if not os.path.islink(path):  # noqa: PTH114 - a name that is too long is no link
            break
        path = Path(folder, path.readlink())
    return Path(os.path.realpath(file))


def _status(target: Path, file: str) -> os.stat_result | None:
    """What the file is; None where it is not there yet."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_written(file, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise _refused(file, "is a directory", "give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise _refused(file, "is no regular file", ANOTHER)
    if not os.access(target, os.W_OK):
        raise _refused(file, "may not be written", "give the path of another file, or change its permissions")
    return found


def _not_written(file: str, error: OSError) -> InputError:
    return _refused(file, f"cannot be written: {str(error.strerror).lower()}", "correct the path")


def _refused(file: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(OPTION, file, reason, fix)])
