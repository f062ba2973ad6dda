"""What the file system refuses (no right, no room, a file in the place of a folder) as an error of ours, with path and fix."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from trainform.errors import ToolchainError, TrainformError

FIX = "set TRAINFORM_CACHE to a folder that you can write, and run the same command again"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def translated(kind: type[TrainformError], fix: str) -> Iterator[None]:
    """Inside, or in the function that it decorates, an `OSError` becomes a `kind`."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our own output has gone: no file's fault, and `cli.main` knows what to do
    except OSError as error:
        reason = str(error) if error.strerror is None else error.strerror
        message = reason if error.filename is None else f"{error.filename}: {reason}"
        raise kind(
            message, "free some disk, and run the same command again" if error.errno in _FULL else fix
        ) from error


toolchain_edge = translated(ToolchainError, FIX)
