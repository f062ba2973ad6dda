"""The shells that training images have as /bin/sh: this machine's own, or those of Debian's packages in the user's
cache folder.

The scripts of pods are run by each of them. A shell that is missing is fetched, about 1 MB, and nothing is installed.
"""

from __future__ import annotations

from pathlib import Path

from tools.debian import program, unpack
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials

PACKAGES = {"dash": "dash", "bash": "bash", "busybox": "busybox-static"}
"""The package with each shell. busybox-static needs no libraries, so that it runs wherever it lies."""


def shell(name: str, progress: Progress) -> Path:
    """Return the program of this shell; `NotHereError` where this machine has none and cannot fetch one."""
    found = program(name)
    if found is not None:
        return found
    folder = cache_folder() / "shells" / name
    with hold(folder.parent / "lock", f"fetching {name}", progress):
        if not folder.exists():
            _fetch(name, folder, progress)
    return folder / "bin" / name


def _fetch(name: str, folder: Path, progress: Progress) -> None:
    remove_partials(folder.parent)
    partial = partial_folder(folder)
    with progress.step(f"fetching {name} from Debian"):
        unpack(PACKAGES[name], partial, folder.parent / "apt.log")
    partial.replace(folder)
