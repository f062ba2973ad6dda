"""Errors of the file system, such as no permission or no space, as trainform's errors with path and fix."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from trainform.errors import ToolchainError, TrainformError

FIX = "set TRAINFORM_CACHE to a folder that you can write, and run the same command again"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def translate_os_errors(kind: type[TrainformError], fix: str) -> Iterator[None]:
    """Turn an `OSError` in the block, or in the decorated function, into an error of the class `kind`."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of trainform's output has closed it, which `cli.main` handles
    except OSError as error:
        reason = str(error) if error.strerror is None else error.strerror
        message = reason if error.filename is None else f"{error.filename}: {reason}"
        raise kind(
            message, "free some disk, and run the same command again" if error.errno in _FULL else fix
        ) from error


os_errors_as_toolchain_errors = translate_os_errors(ToolchainError, FIX)
