"""Debian packages that the tests need. What has to be part of the system is installed, which takes root; a program by
itself is only unpacked into a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.toolchain.debian import source_line
from trainform.local.toolchain.running import run_logged

LOCK_SECONDS = 300  # another apt process may have the lock
SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"  # of dockerd and iptables; not on every user's PATH
APT = ["apt-get", "-o", f"DPkg::Lock::Timeout={LOCK_SECONDS}"]


class NotHereError(TrainformError):
    """The machine cannot run the rehearsals, which is not a failure: tests are skipped, commands exit with code 3."""

    exit_code: ClassVar[int] = 3


def environment() -> dict[str, str]:
    """Return the environment variables, with the system's folders on PATH and without questions from packages."""
    return {
        **os.environ,
        "PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_FOLDERS}",
        "DEBIAN_FRONTEND": "noninteractive",
    }


def program(name: str) -> Path | None:
    """Return the path of a program, also outside of the user's PATH; None if it is missing."""
    found = shutil.which(name, path=environment()["PATH"])
    return None if found is None else Path(found)


def require(programs: Mapping[str, str], log: Path, progress: Progress) -> None:
    """Install the packages of missing programs (program -> package). Raises `NotHereError` if this user or system
    cannot."""
    missing = sorted({package for name, package in programs.items() if program(name) is None})
    if not missing:
        return
    names = " ".join(missing)
    if program("apt-get") is None:
        raise NotHereError(
            f"this machine has no {names}, which can be installed on Debian only", f"install it by hand: {names}"
        )
    if os.geteuid() != 0:
        raise NotHereError(f"this machine has no {names}, which only root may install", f"sudo apt-get install {names}")
    with progress.step(f"apt-get install {names}"):
        install(missing, log)


def install(packages: Iterable[str], log: Path) -> None:
    """Install packages without recommended ones; if that fails, fetch the package lists and try again."""
    command = [*APT, "install", "--yes", "--no-install-recommends", *packages]
    try:
        run_logged(command, Path("/"), environment(), log)
    except TrainformError:
        run_logged([*APT, "update"], Path("/"), environment(), log)
        run_logged(command, Path("/"), environment(), log)


def unpack(package: str, folder: Path, log: Path, suite: str = "") -> None:
    """Fetch a package and unpack it into the folder, without what it depends on. apt checks it as it checks what it
    installs, and any user may do this; `NotHereError` where there is no apt. suite: another one of Debian."""
    _unpack(package, ["download"], folder, log, suite)


def unpack_all(package: str, folder: Path, log: Path) -> None:
    """Unpack a package and all of its dependencies that this machine lacks."""
    # nothing of the machine's is written, so that no lock is needed, which only root may take
    alone = ["-o", "Debug::NoLocking=true"]
    _unpack(package, [*alone, "install", "--download-only", "--yes", "--no-install-recommends"], folder, log)


def _unpack(package: str, verb: Sequence[str], folder: Path, log: Path, suite: str = "") -> None:
    if program("apt-get") is None:
        raise NotHereError(
            f"this machine has no {package}, and it can be fetched on Debian alone", f"install it by hand: {package}"
        )
    lists, cache = folder / "apt" / "lists", folder / "apt" / "cache"
    archives = cache / "archives"
    for made in (lists / "partial", archives / "partial"):
        made.mkdir(parents=True)
    own_lists, own_cache = ["-o", f"Dir::State::Lists={lists}"], ["-o", f"Dir::Cache={cache}"]
    if suite:
        source = source_line(suite)
        if source is None:
            raise NotHereError(
                f"{package} is a package of {suite}, but this is not Debian", "run it on Debian 12 or later"
            )
        sources = folder / "apt" / "sources.list"
        sources.write_text(f"{source}\n")
        own_lists += ["-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=-"]
        verb = [*own_lists, *verb]  # of which there are no lists yet
    try:
        run_logged(["apt-get", *own_cache, *verb, package], archives, environment(), log)
    except (
        TrainformError
    ):  # a machine without package lists, which only root may fetch for all: they come into this folder
        run_logged(["apt-get", *own_lists, *own_cache, "update"], folder, environment(), log)
        run_logged(["apt-get", *own_lists, *own_cache, *verb, package], archives, environment(), log)
    for fetched in sorted(archives.glob("*.deb")):
        run_logged(["dpkg-deb", "--extract", str(fetched), "."], folder, environment(), log)
    shutil.rmtree(folder / "apt")
