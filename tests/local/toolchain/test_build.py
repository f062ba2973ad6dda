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
from msgspec import structs

from tests.local.toolchain.conftest import TINY
from tests.local.toolchain.recording import Recording
from trainform.console.locking import hold
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.build import build_parts

# Builds TINY and kills itself as soon as the work has begun.
KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.local.toolchain.conftest import TINY
from trainform.console.progress import SILENT
from trainform.local.toolchain.build import build_parts

folder, pins = Path(sys.argv[1]), Path(sys.argv[2])

def kill() -> None:
    while not list(folder.glob(".tiny.*.partial/source/main.go")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
build_parts([TINY], folder, SILENT, pins)
"""
# Starts a child that would run for a minute, writes its id, and waits for it.
WAITING = """
import sys
from pathlib import Path
from trainform.local.toolchain.running import run_logged

folder = Path(sys.argv[1])
run_logged(["sh", "-c", "echo $$ > pid; sleep 60 & wait"], folder, {"PATH": "/usr/bin:/bin"}, folder / "log")
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


def test_a_killed_build_is_never_used_and_the_next_one_completes(cache: Path, pins: Path) -> None:
    folder = cache / "t"
    killed = subprocess.run([sys.executable, "-c", KILLED, folder, pins], cwd=Path(__file__).parents[3], check=False)
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


def test_the_variables_of_a_part_reach_the_compiler(cache: Path, pins: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        build_parts([structs.replace(TINY, environment=(("GOOS", "multics"),))], cache / "t", SILENT, pins)
    assert "unsupported GOOS/GOARCH pair multics/" in "\n".join(caught.value.details)


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


def _gone(group: int) -> None:
    """Wait until the processes of the group have ended."""
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
