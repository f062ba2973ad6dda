"""What is missing is installed, or the message says who may install it; the image's packages come from where apt's do."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import debian
from trainform.errors import TrainformError
from trainform.progress import SILENT

NOBODY = 65534
ABSENT = {"no-such-program": "no-such-package"}
TARGETS = """\
http://packages.example/backports bookworm-backports main
http://packages.example/security bookworm-security main
http://packages.example/debian bookworm contrib
http://packages.example/debian bookworm main
http://other.example/debian bookworm main
"""
# Notes its words; the first `install` fails as it does where no package list was ever fetched.
APT = """#!/bin/sh
echo "$*" >> "$0.calls"
[ "$3" = update ] && touch "$0.lists"
[ -e "$0.lists" ] || { echo "E: Unable to locate package $6"; exit 100; }
"""


@contextlib.contextmanager
def without_root() -> Iterator[None]:
    """As any user: root may do what these tests say is refused."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if before == 0:
            os.seteuid(before)


def test_installed_programs_are_not_installed_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    debian.require({"sh": "dash"}, log, SILENT)
    assert not log.exists()


def test_a_program_outside_of_the_users_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dockerd").touch(0o755)
    assert debian.program("dockerd") != tmp_path / "dockerd"
    monkeypatch.setattr(debian, "SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert debian.program("dockerd") == tmp_path / "dockerd"


def test_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "SYSTEM_FOLDERS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(debian.NotHereError) as raised:
        debian.require(ABSENT, tmp_path / "log", SILENT)
    assert str(raised.value) == (
        "this machine has no no-such-package, which can be installed on Debian only\n"
        "  fix: install it by hand: no-such-package"
    )
    assert raised.value.exit_code == 3


def test_without_root(tmp_path: Path, apt: Path) -> None:
    with pytest.raises(debian.NotHereError) as raised, without_root():
        debian.require(ABSENT, tmp_path / "log", SILENT)
    assert raised.value.fix == "sudo apt-get install no-such-package"
    assert not Path(f"{apt}.calls").exists()


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that installs nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "apt-get"
    program.write_text(APT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return program


def calls(apt: Path) -> list[str]:
    prefix = f"-o DPkg::Lock::Timeout={debian.LOCK_SECONDS} "
    return [line.removeprefix(prefix) for line in Path(f"{apt}.calls").read_text().splitlines()]


def test_the_package_lists_are_fetched_only_where_they_are_missing(tmp_path: Path, apt: Path) -> None:
    install = "install --yes --no-install-recommends one two"
    debian.install(["one", "two"], tmp_path / "log")
    assert calls(apt) == [install, "update", install]
    debian.install(["one", "two"], tmp_path / "log")
    assert calls(apt)[3:] == [install]


def test_a_package_that_does_not_exist(tmp_path: Path, apt: Path) -> None:
    apt.write_text(APT.replace('"$0.lists" ]', '"$0.never" ]').replace("= update ] &&", "= update ] && exit 0 &&"))
    with pytest.raises(TrainformError, match="Unable to locate package") as raised:
        debian.install(["one"], tmp_path / "log")
    assert "read the whole log" in raised.value.fix


def test_the_release_of_this_machine() -> None:
    assert debian.codename('ID=debian\nNAME="Debian GNU/Linux"\nVERSION_CODENAME=bookworm\n') == "bookworm"
    with pytest.raises(debian.NotHereError, match="this is Ubuntu"):
        debian.codename("NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n")


def test_the_archive_is_the_one_with_the_release_itself() -> None:
    assert debian.archive(TARGETS, "bookworm") == "http://packages.example/debian"
    with pytest.raises(debian.NotHereError, match="no source for sid main"):
        debian.archive(TARGETS, "sid")
