"""Ending, crashing, recovering. These tests break their sandbox, so they have one of their own."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.sandbox.conftest import api_of, small_settings, state_of, until
from tests.toolchain.recording import Recording
from trainform.errors import SandboxError
from trainform.sandbox import Sandbox, down, exports, status, up
from trainform.sandbox.api import Api
from trainform.sandbox.folder import Layout
from trainform.sandbox.state import read_processes
from trainform.toolchain import Toolchain

REPOSITORY = Path(__file__).parents[2]
MAPS = "/api/v1/namespaces/default/configmaps"
# `up` in a process of its own, for tests that interrupt it.
UP = """
import sys
from pathlib import Path
from tests.sandbox.conftest import small_settings
from trainform.sandbox import up
from trainform.toolchain import ensure

up(small_settings(Path(sys.argv[1])), ensure())
"""


def _running(folder: Path) -> list[int]:
    """Every process of this user that was started for the folder, recorded or not."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"]
        if words and process.pid != os.getpid() and any(f"{folder}/" in word for word in words[1:]):
            found.append(process.pid)
    return found


def test_two_sandboxes_run_side_by_side(sandbox: Sandbox, api: Api, own: Path) -> None:
    ports, others = state_of(sandbox.folder).ports, state_of(own).ports
    assert not set(ports.values()) & set(others.values())
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "only-here"}}
    with api_of(own) as other:
        other.create(MAPS, manifest)
    assert "only-here" not in [item["metadata"]["name"] for item in api.get(MAPS)["items"]]
    assert status(sandbox.folder).running
    assert status(own).running


def test_a_killed_component_is_seen_and_up_recovers_on_the_same_data(own: Path, toolchain: Toolchain) -> None:
    with api_of(own) as api:
        api.apply(f"{MAPS}/kept", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    before = state_of(own)
    os.kill(next(p.pid for p in before.processes if p.name == "kube-apiserver"), signal.SIGKILL)
    until(lambda: [row.name for row in status(own).components if not row.running] == ["kube-apiserver"])
    assert not status(own).running
    progress = Recording()
    up(small_settings(own), toolchain, progress)
    assert "6 of 7 components of an earlier start still run" in progress.text
    with api_of(own) as api:
        assert api.get(f"{MAPS}/kept")["metadata"]["name"] == "kept"
    after = state_of(own)
    assert after.ports == before.ports, "kubeconfigs that were copied must go on working"
    assert not {p.pid for p in before.processes} & {p.pid for p in after.processes}


def test_down_after_a_crash_ends_what_is_left_and_nothing_else(
    sandbox: Sandbox, own: Path, toolchain: Toolchain
) -> None:
    up(small_settings(own), toolchain)
    stranger = subprocess.Popen(["sleep", "300"])
    try:
        for process in state_of(own).processes[:2]:
            os.kill(process.pid, signal.SIGKILL)
        assert down(own)
        assert _running(own) == []
        assert stranger.poll() is None
        assert status(sandbox.folder).running
    finally:
        stranger.kill()
        stranger.wait()
    assert sorted(path.name for path in own.iterdir()) == ["lock", "logs", "passphrase"]
    assert not status(own).running
    assert not down(own)
    with pytest.raises(SandboxError, match="no sandbox is up"):
        exports(own)


def _interrupted_up(folder: Path, number: signal.Signals) -> None:
    runner = subprocess.Popen([sys.executable, "-c", UP, folder], cwd=REPOSITORY, stderr=subprocess.PIPE)
    end = time.monotonic() + 30
    while len(read_processes(Layout(folder))) < 4:
        assert runner.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    runner.send_signal(number)
    runner.communicate(timeout=30)
    assert runner.returncode != 0


def test_ctrl_c_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "interrupted"
    try:
        _interrupted_up(folder, signal.SIGINT)
        assert _running(folder) == []
    finally:
        down(folder)


def test_an_up_that_is_killed_half_way_can_be_run_again_and_taken_down(tmp_path: Path, toolchain: Toolchain) -> None:
    folder = tmp_path / "killed"
    try:
        _interrupted_up(folder, signal.SIGKILL)
        # Those that were recorded and had not begun yet never do.
        assert set(_running(folder)) <= {process.pid for process in read_processes(Layout(folder))}
        assert not status(folder).running
        up(small_settings(folder), toolchain)
        assert status(folder).running
    finally:
        assert down(folder)
    assert _running(folder) == []


def test_a_stale_folder_names_processes_that_are_now_somebody_elses(tmp_path: Path, toolchain: Toolchain) -> None:
    folder = tmp_path / "stale"
    layout = Layout(folder)
    layout.make()
    # As after a reboot: the numbers are in use again, by others. This one is the test itself.
    rows = [{"name": "etcd", "pid": os.getpid(), "started": 1.0, "binary": sys.executable, "log": "x"}]
    layout.state.write_text(json.dumps({"format": 0, "processes": rows}))
    up(small_settings(folder), toolchain)
    assert status(folder).running
    assert down(folder, purge=True)
    assert not folder.exists()
    assert not down(folder, purge=True)


def test_a_component_that_fails_is_named_with_its_log(tmp_path: Path, toolchain: Toolchain) -> None:
    folder = tmp_path / "broken"
    broken = dataclasses.replace(toolchain.control_plane, stages=(tmp_path / "no-such-stage.yaml",))
    with pytest.raises(SandboxError) as caught:
        up(small_settings(folder), dataclasses.replace(toolchain, control_plane=broken))
    assert caught.value.message.startswith("kwok ended\n")
    assert "no-such-stage.yaml" in caught.value.message
    assert str(folder / "logs" / "kwok.log") in caught.value.fix
    assert _running(folder) == []


def test_a_folder_of_something_else_is_refused(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "thesis.tex").touch()
    for act in (lambda: up(small_settings(tmp_path), toolchain), lambda: down(tmp_path)):
        with pytest.raises(SandboxError, match=r"holds thesis\.tex"):
            act()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
