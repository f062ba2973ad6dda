"""Where finished parts lie: outside the repository, in a folder named after the pins, so that another pin is another folder."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from pathlib import Path

from trainform.toolchain.parts import PINS, fingerprint

CACHE_VARIABLE = "TRAINFORM_CACHE"
PARTIAL = ".partial"


def cache_folder() -> Path:
    """TRAINFORM_CACHE, else the user's cache folder of this system."""
    variable = os.environ.get(CACHE_VARIABLE)
    if variable:
        return Path(variable).expanduser().absolute()
    import platformdirs  # only here: who names a folder needs no table of systems

    return platformdirs.user_cache_path("trainform")


def toolchain_folder(pins: Path = PINS) -> Path:
    """The folder of exactly these pins and flags."""
    return cache_folder() / f"toolchain-{fingerprint(pins)}"


def downloads_folder(folder: Path) -> Path:
    """What was downloaded whole, for a run that goes on where another one was killed."""
    return folder / "downloads"


def partial_folder(final: Path) -> Path:
    """A new folder to work in. It becomes `final` by one rename, so that what is there is complete."""
    partial = final.with_name(f".{final.name}.{os.getpid()}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial


def remove_partials(folder: Path) -> None:
    """What killed builds left behind; only under the folder's lock."""
    for path in folder.glob(f".*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)


def note_of_others(folder: Path) -> str | None:
    """How to remove what other pins made of the same, and what that frees; None where there is none."""
    name, _, _ = folder.name.rpartition("-")  # the rest is the fingerprint
    others = sorted(path for path in folder.parent.glob(f"{name}-*") if path != folder and path.is_dir())
    if not others:
        return None
    size = sum(map(_size, others)) / 1e6
    command = shlex.join(["rm", "-r", *map(str, others)])
    return f"tool chains of other versions take {size:.0f} MB; if no other checkout uses them: {command}"


def _size(folder: Path) -> int:
    """Bytes, what is linked twice once."""
    sizes: dict[int, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # somebody else is removing it
                stat = Path(place, name).lstat()
                sizes[stat.st_ino] = stat.st_size
    return sum(sizes.values())
