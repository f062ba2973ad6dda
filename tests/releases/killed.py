"""A promotion that is killed before the operation on files with this number, or with 0 not at all: `python -m
tests.releases.killed ROOT NUMBER`.

It prints how many there are.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.support.releases import PROMOTED, release
from trainform.releases.files import unfollowed
from trainform.releases.promote import begun
from trainform.releases.stack_file import follow
from trainform.spec.stack import pinned_release

OPERATIONS = ("os.mkdir", "os.rename", "os.link", "os.remove", "os.chmod", "os.chown")


def promote(root: Path, at: str) -> str:
    """What `trainform promote` writes, and the name of the release."""
    replaces = pinned_release("sdxl-lora.prod", root)
    wanted = release(PROMOTED.model_copy(update={"at": at, "replaces": replaces}))
    left = dict(unfollowed("sdxl-lora", root))
    found = begun(wanted, left.items())
    return follow(wanted if found is None else left[found], "sdxl-lora.prod", root)


def main(root: Path, number: int) -> None:
    count = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if written or event in OPERATIONS:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    promote(root, "2026-11-23T14:35:24Z")
    sys.stdout.write(str(count))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
