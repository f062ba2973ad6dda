"""Folders over which, or in which, a container may mount nothing."""

from __future__ import annotations

import posixpath
import re

from trainform.spec.names import END

# Folders that a volume may not hide, as images have them: without these no program is found or starts. Inside /dev and /etc there is room for
# a volume, inside the kernel's own there is none.
SYSTEM_FOLDERS = frozenset(
    {
        *("", "/dev", "/etc", "/proc", "/sys", "/usr"),
        *(
            f"{above}/{folder}"
            for above in ("", "/usr")
            for folder in ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
        ),
    }
)
KERNEL_FOLDERS = ("/proc/", "/sys/")
_LIBRARIES = re.compile(rf"(/usr)?/lib/[a-z0-9_]+-linux-[a-z0-9]+{END}")  # of one architecture, as Debian has them

HIDES = (
    "the mount would hide a folder of the system that every process needs",
    "choose a folder of your own, such as /mnt/data",
)
"""Reason and fix for a mount that hides one."""


LONGEST_PART = 255
TOO_LONG = (
    f"a part of the path has more than {LONGEST_PART} bytes, and no file system takes a longer name",
    "shorten it",
)
"""Reason and fix for a path with one; the runtime could not make the folder."""


def is_too_long(path: str) -> bool:
    """Whether a part of the path is longer than a file system takes."""
    return any(len(part.encode()) > LONGEST_PART for part in path.split("/"))


def normalized(path: str) -> str:
    """The path of the folder as a container has it: one name for each folder, and no `/` at its end, so that the root is empty."""
    return f"/{posixpath.normpath(f'/{path}').strip('/')}".rstrip("/")


def hides_system(path: str) -> bool:
    """Whether a mount there would hide a folder that every process needs."""
    folder = normalized(path)
    return folder in SYSTEM_FOLDERS or folder.startswith(KERNEL_FOLDERS) or _LIBRARIES.match(folder) is not None


def is_inside(path: str, folder: str) -> bool:
    """Whether the path is below the folder."""
    return normalized(path).startswith(f"{normalized(folder)}/")
