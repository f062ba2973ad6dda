"""Real builds with a Go module that takes a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.toolchain.conftest import TINY
from tests.toolchain.recording import Recording
from trainform.errors import ToolchainError
from trainform.locking import hold
from trainform.progress import SILENT
from trainform.toolchain.build import build_parts
from trainform.toolchain.running import run_logged

# Builds TINY and kills itself, as nobody can catch it, as soon as the work has begun.
KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.toolchain.conftest import TINY
from trainform.progress import SILENT
from trainform.toolchain.build import build_parts

folder, pins = Path(sys.argv[1]), Path(sys.argv[2])

def kill() -> None:
    while not list(folder.glob(".tiny.*.partial/source/main.go")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
build_parts([TINY], folder, SILENT, pins)
"""
# Starts a child that would run for a minute, says so, and waits for it.
WAITING = """
import sys
from pathlib import Path
from trainform.toolchain.running import run_logged

folder = Path(sys.argv[1])
run_logged(["sh", "-c", "echo $$ > pid; sleep 60 & wait"], folder, {"PATH": "/usr/bin:/bin"}, folder / "log")
"""
# Is interrupted while the process starts, as early as anybody can know its number.
INTERRUPTED = """
import os, subprocess, sys
from pathlib import Path
from trainform.toolchain.running import run_logged

folder, number = Path(sys.argv[1]), int(sys.argv[2])

class Interrupted(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        (folder / "pid").write_text(str(self.pid))
        os.kill(os.getpid(), number)

subprocess.Popen = Interrupted
run_logged(["sleep", "60"], folder, {"PATH": "/usr/bin:/bin"}, folder / "log")
"""


def _greeting(folder: Path) -> str:
    return subprocess.run([folder / "tiny/bin/tiny"], capture_output=True, text=True, check=True).stderr.strip()


def test_a_part_is_built_once_and_its_time_is_shown(cache: Path, pins: Path) -> None:
    progress = Recording()
    build_parts([TINY], cache / "t", progress, pins)
    assert _greeting(cache / "t") == "hello"
    assert "building 1 of 1 parts" in progress.text
    assert "[1/1] tool chain, tiny" in progress.text
    assert sorted(path.name for path in (cache / "t" / "tiny").iterdir()) == ["bin"]
    stamp = (cache / "t/tiny/bin/tiny").stat().st_mtime_ns
    again = Recording()
    build_parts([TINY], cache / "t", again, pins)
    assert again.lines == []
    assert (cache / "t/tiny/bin/tiny").stat().st_mtime_ns == stamp


def test_a_note_names_tool_chains_of_other_pins_with_their_size(cache: Path, pins: Path) -> None:
    folder = cache / "toolchain-00000000new0"
    old = [cache / f"toolchain-00000000old{number}" for number in (1, 2)]
    for path in old:
        (path / "kwok" / "bin").mkdir(parents=True)
        (path / "kwok" / "bin" / "kwok").write_bytes(b"x" * 3_000_000)
        (path / "pulumi-build").mkdir()
        os.link(path / "kwok" / "bin" / "kwok", path / "pulumi-build" / "linked")  # takes its place once
    progress = Recording()
    build_parts([TINY], folder, progress, pins)
    assert [line for line in progress.lines if "old1" in line] == [
        f"there are tool chains of other versions; if no other checkout needs them, run: rm -r {old[0]} {old[1]}"
    ]
    again = Recording()
    build_parts([TINY], folder, again, pins)
    assert again.lines == []


def test_a_killed_build_is_never_used_and_the_next_one_completes(cache: Path, pins: Path) -> None:
    folder = cache / "t"
    killed = subprocess.run([sys.executable, "-c", KILLED, folder, pins], cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (folder / "tiny").exists()
    assert list(folder.glob(".tiny.*.partial")), "the test killed too early"
    build_parts([TINY], folder, SILENT, pins)
    assert _greeting(folder) == "hello"
    assert not list(folder.glob(".tiny.*.partial"))


def test_a_second_process_waits_for_the_lock_and_shows_its_holder(cache: Path, pins: Path) -> None:
    folder = cache / "t"
    progress = Recording()
    with hold(folder / "lock", "building the tool chain", SILENT):
        thread = threading.Thread(target=build_parts, args=([TINY], folder, progress, pins))
        thread.start()
        end = time.monotonic() + 60
        while not progress.lines and time.monotonic() < end:
            time.sleep(0.01)
        assert progress.lines[0].startswith(f"waiting: process {os.getpid()} (building the tool chain)")
        assert not (folder / "tiny").exists()
    thread.join()
    assert _greeting(folder) == "hello"


def test_a_source_that_does_not_compile_shows_the_compiler_and_the_log(cache: Path, pins: Path) -> None:
    (pins / "tiny" / "main.go").write_text("package main\n\nfunc main() { gretting() }\n")
    with pytest.raises(ToolchainError) as caught:
        build_parts([TINY], cache / "t", SILENT, pins)
    assert "undefined: gretting" in str(caught.value)
    assert str(cache / "t" / "logs" / "tiny.log") in str(caught.value)
    assert not (cache / "t" / "tiny").exists()


def test_a_module_without_a_hash_in_the_pins_is_refused(cache: Path, pins: Path) -> None:
    go_mod = pins / "tiny" / "go.mod"
    go_mod.write_text(go_mod.read_text() + "\nrequire golang.org/x/text v0.39.0\n")
    (pins / "tiny" / "main.go").write_text('package main\n\nimport _ "golang.org/x/text/width"\n\nfunc main() {}\n')
    with pytest.raises(ToolchainError, match=r"go\.sum"):
        build_parts([TINY], cache / "t", SILENT, pins)


@pytest.mark.usefixtures("hangups_end")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_the_whole_process_group(tmp_path: Path, number: signal.Signals) -> None:
    runner = subprocess.Popen([sys.executable, "-c", WAITING, tmp_path], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < end
        time.sleep(0.01)
    group = int((tmp_path / "pid").read_text())
    assert len(_members(group)) >= 1
    runner.send_signal(number)
    runner.communicate(timeout=60)
    assert runner.returncode != 0
    _gone(group)


@pytest.mark.usefixtures("hangups_end")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_the_process_starts_stops_it_too(tmp_path: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(int(number))]
    assert subprocess.run(words, stderr=subprocess.PIPE, timeout=60, check=False).returncode != 0
    _gone(int((tmp_path / "pid").read_text()))


def _gone(group: int) -> None:
    """It has been signalled; the kernel takes its time."""
    end = time.monotonic() + 20
    while _members(group):
        assert time.monotonic() < end
        time.sleep(0.01)


def _members(group: int) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_an_error_has_the_fix_for_the_text_in_the_log(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo 'write /x: no space left on device'; exit 1"]
    with pytest.raises(ToolchainError) as caught:
        run_logged(command, tmp_path, dict(os.environ), tmp_path / "log")
    assert caught.value.details == ("write /x: no space left on device",)
    assert "free some disk" in caught.value.fix


def test_each_complete_line_of_output_reaches_watch(tmp_path: Path) -> None:
    """Go writes its lists in blocks, which end anywhere; the last one comes with the end of the process."""
    script = "printf 'one\\ntw'; while [ ! -e seen ]; do sleep 0.05; done; sleep 0.6; printf 'o\\nthree\\nfour'"
    lines: list[str] = []

    def watch(line: str) -> None:
        lines.append(line)
        (tmp_path / "seen").touch()

    run_logged(["sh", "-c", script], tmp_path, dict(os.environ), tmp_path / "log", watch)
    assert lines == ["one", "two", "three", "four"]
