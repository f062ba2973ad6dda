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
    for address, release, component in (line.split() for line in printed.splitlines()):
        if component == "main" and "-" not in release:  # not `bookworm-security`, which is another archive
            return f"deb [signed-by={KEYRING}] {address} {suite} main"
    return None
