"""The shells of training images: this machine's own, or unpacked from Debian's packages by whoever runs the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import debian, shells
from trainform.progress import SILENT


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAINFORM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def apt(folder: Path, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> Path:
    """An apt-get that gives a package with a shell; with `fails` only from lists in a folder of its own, once they were fetched."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(
        "Package: busybox-static\nVersion: 1\nArchitecture: all\nMaintainer: t <t@example.com>\nDescription: a shell\n"
    )
    (tree / "bin").mkdir()
    (tree / "bin" / "busybox").write_text("#!/bin/sh\necho busybox\n")
    (tree / "bin" / "busybox").chmod(0o755)
    built = ["dpkg-deb", "--build", "--root-owner-group", str(tree), str(folder / "busybox.deb")]
    subprocess.run(built, capture_output=True, timeout=60, check=True)
    program = folder / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
echo "$*" >>"$0.calls"
case "$*" in
*update) touch "$0.lists" ;;
*download*) [ -z "{fails}" ] || [ -e "$0.lists" ] || exit 100; cp {folder}/busybox.deb . ;;
esac
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(debian, "SYSTEM_FOLDERS", "/nowhere")
    return program


def calls(program: Path) -> list[str]:
    return [line.split(" ")[-1] for line in Path(f"{program}.calls").read_text().splitlines()]


def test_a_shell_of_this_machine_is_taken(cache: Path) -> None:
    assert shells.shell("bash", SILENT) == debian.program("bash")
    assert not cache.exists()


def test_a_shell_that_is_missing_is_unpacked_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shells, "program", lambda name: None)
    program = apt(tmp_path, monkeypatch)
    found = shells.shell("busybox", SILENT)
    assert found == cache / "shells" / "busybox" / "bin" / "busybox"
    assert subprocess.run([found], capture_output=True, text=True, timeout=60, check=True).stdout == "busybox\n"
    assert shells.shell("busybox", SILENT) == found
    assert calls(program) == ["busybox-static"]
    assert sorted(path.name for path in found.parent.parent.iterdir()) == ["bin"], "nothing of apt's stays"


def test_without_package_lists_they_are_fetched_into_a_folder_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root may fetch those of the machine."""
    monkeypatch.setattr(shells, "program", lambda name: None)
    program = apt(tmp_path, monkeypatch, fails="yes")
    assert shells.shell("busybox", SILENT).exists()
    assert calls(program) == ["busybox-static", "update", "busybox-static"]
    *_, update, download = Path(f"{program}.calls").read_text().splitlines()
    for line in (update, download):
        assert line.startswith(f"-o Dir::State::Lists={tmp_path}/cache/shells/")


def test_without_apt_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "SYSTEM_FOLDERS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(debian.NotHereError) as raised:
        shells.shell("busybox", SILENT)
    assert raised.value.fix == "install it by hand: busybox-static"
