"""The cache of finished parts: a folder outside of the repository, with the hash of the pins in its name."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainform.errors import ToolchainError, TrainformError
from trainform.local.toolchain.parts import PINS, fingerprint

CACHE_VARIABLE = "TRAINFORM_CACHE"
PARTIAL = ".partial"


def cache_folder() -> Path:
    """Return TRAINFORM_CACHE, or the user's cache folder of this system."""
    variable = os.environ.get(CACHE_VARIABLE)
    if variable:
        return Path(variable).expanduser().absolute()
    import platformdirs  # imported here only: not needed if the variable is set

    return platformdirs.user_cache_path("trainform")


def toolchain_folder(pins: Path = PINS) -> Path:
    """Return the folder for exactly these pins and flags."""
    return cache_folder() / f"toolchain-{fingerprint(pins)}"


def downloads_folder(folder: Path) -> Path:
    """Return the folder of complete downloads, with which a run continues after another one was killed."""
    return folder / "downloads"


def partial_folder(final: Path) -> Path:
    """Create a temporary folder, to be renamed to `final`: a finished folder is never incomplete."""
    partial = final.with_name(f".{final.name}.{os.getpid()}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial


def remove_partials(folder: Path) -> None:
    """Remove the temporary folders of killed runs. The caller must have the folder's lock."""
    for path in folder.glob(f".*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)


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
