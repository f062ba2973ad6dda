"""The archive of Debian that this machine's apt uses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TARGETS = ("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")


def source_line(suite: str) -> str | None:
    """Return the line of sources.list for a suite in that archive; None on other systems."""
    if shutil.which(TARGETS[0]) is None or not KEYRING.is_file():
        return None
    printed = subprocess.run(TARGETS, capture_output=True, text=True, check=True).stdout
    address = main_archive(printed)
    return None if address is None else f"deb [signed-by={KEYRING}] {address} {suite} main"


def main_archive(targets: str) -> str | None:
    """Return the URL of Debian's archive; None if apt does not use it. targets: lines of `URL release component`."""
    for line in targets.splitlines():
        match line.split():
            case [address, release, "main"] if "-" not in release:  # not `bookworm-security`, another archive
                return address
    return None
