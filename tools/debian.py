"""Debian packages that the tests need: what is missing is installed, where this is Debian and we are root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from trainform.errors import TrainformError
from trainform.progress import Progress
from trainform.toolchain.running import run_logged

LOCK_SECONDS = 300  # another apt of this machine may be at work
SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"  # dockerd and iptables; not on every user's PATH
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT = ["apt-get", "-o", f"DPkg::Lock::Timeout={LOCK_SECONDS}"]
TARGETS = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]


class NotHereError(TrainformError):
    """This machine cannot have what the rehearsals need, and nothing is broken: tests skip, commands end with code 3."""

    exit_code: ClassVar[int] = 3


def environment() -> dict[str, str]:
    """Ours, with the system's own folders on PATH and without questions from packages."""
    return {
        **os.environ,
        "PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_FOLDERS}",
        "DEBIAN_FRONTEND": "noninteractive",
    }


def program(name: str) -> Path | None:
    """Where a program is, also outside of the user's PATH."""
    found = shutil.which(name, path=environment()["PATH"])
    return None if found is None else Path(found)


def require(programs: Mapping[str, str], log: Path, progress: Progress) -> None:
    """Install the packages of those programs (program -> package) that are missing."""
    missing = sorted({package for name, package in programs.items() if program(name) is None})
    if not missing:
        return
    names = " ".join(missing)
    if program("apt-get") is None:
        raise NotHereError(
            f"this machine has no {names}, and it can be installed on Debian alone", f"install it by hand: {names}"
        )
    if os.geteuid() != 0:
        raise NotHereError(
            f"this machine has no {names}, and only root may install it", f"sudo apt-get install {names}"
        )
    with progress.step(f"apt-get install {names}"):
        install(missing, log)


def install(packages: Iterable[str], log: Path) -> None:
    """Install without recommended packages; the package lists are fetched first where they are missing or too old."""
    command = [*APT, "install", "--yes", "--no-install-recommends", *packages]
    try:
        run_logged(command, Path("/"), environment(), log)
    except TrainformError:
        run_logged([*APT, "update"], Path("/"), environment(), log)
        run_logged(command, Path("/"), environment(), log)


def codename(os_release: str) -> str:
    """`bookworm` of /etc/os-release; `NotHereError` on what is not Debian itself."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    fields = {name: value.strip("\"'") for name, value in fields.items()}
    if fields.get("ID") != "debian" or "VERSION_CODENAME" not in fields:
        raise NotHereError(
            f"the image is made from this machine's Debian packages, and this is {fields.get('NAME', 'no Debian')}",
            "run it on Debian 12 or later",
        )
    return fields["VERSION_CODENAME"]


def archive(targets: str, release: str) -> str:
    """The address of Debian's archive among apt's index targets (`address release component` per line)."""
    for line in targets.splitlines():
        address, _, rest = line.partition(" ")
        if rest == f"{release} main":
            return address
    raise NotHereError(f"this machine's apt has no source for {release} main", "see sources.list(5)")


def source_line(suite: str) -> str:
    """The line of sources.list for another suite of the archive that this machine's apt uses."""
    release = codename(Path("/etc/os-release").read_text())
    targets = subprocess.run(TARGETS, env=environment(), capture_output=True, text=True, check=True).stdout
    return f"deb [signed-by={KEYRING}] {archive(targets, release)} {suite} main"
