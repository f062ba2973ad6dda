"""A sandbox is extended, killed, restarted and stopped. All tests use one sandbox, in whatever state the last test left
it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec import structs

from tests.local.sandbox.conftest import api_of, small_settings, state_of, until
from tests.local.toolchain.recording import Recording
from trainform.errors import SandboxError
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.components import COMPONENTS
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.exports import exports
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.state import read_processes
from trainform.local.sandbox.status import status
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("kills and crashes, each with sandboxes of its own")

REPOSITORY = Path(__file__).parents[3]
MAPS = "/api/v1/namespaces/default/configmaps"
# `up` in a process of its own, for tests that interrupt it.
UP = """
import sys
from pathlib import Path
from tests.local.sandbox.conftest import small_settings
from trainform.local.sandbox.control import up
from trainform.local.toolchain.ensure import ensure

up(small_settings(Path(sys.argv[1])), ensure())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of the sandbox that these tests break."""
    folder = tmp_path_factory.mktemp("sandbox") / "own"
    yield folder
    down(folder)


@pytest.fixture
def own(folder: Path, toolchain: Toolchain) -> Path:
    """Return the same folder, with the sandbox up."""
    up(small_settings(folder), toolchain)
    return folder


def _running(folder: Path) -> list[int]:
    """Return the id of every process that was started for the folder, recorded or not."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"]
        if words and process.pid != os.getpid() and any(f"{folder}/" in word for word in words[1:]):
            found.append(process.pid)
    return found


def _interrupted_up(folder: Path, number: signal.Signals, recorded: int) -> None:
    """Run `up`, and send it a signal when so many processes are recorded: etcd is the first, the API server the
    second."""
    runner = subprocess.Popen([sys.executable, "-c", UP, folder], cwd=REPOSITORY, stderr=subprocess.PIPE)
    end = time.monotonic() + 300
    while len(read_processes(Layout(folder))) < recorded:
        assert runner.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    runner.send_signal(number)
    runner.communicate(timeout=120)
    assert runner.returncode != 0


def test_ctrl_c_leaves_nothing_running_and_purge_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "interrupted"
    try:
        _interrupted_up(folder, signal.SIGINT, recorded=2)
        assert _running(folder) == []
    finally:
        assert down(folder, purge=True)
    assert not folder.exists()
    assert not down(folder, purge=True)


def test_an_up_that_was_killed_on_a_stale_folder_can_be_repeated(folder: Path, toolchain: Toolchain) -> None:
    layout = Layout(folder)
    layout.make()
    # As after a reboot: other processes have the recorded ids. This one is that of the test itself.
    rows = [{"name": "etcd", "pid": os.getpid(), "started": 1.0, "binary": sys.executable, "log": "x"}]
    layout.state.write_text(json.dumps({"format": 0, "processes": rows}))
    _interrupted_up(folder, signal.SIGKILL, recorded=3)
    assert set(_running(folder)) <= {process.pid for process in read_processes(layout)}
    assert not status(folder).running
    up(small_settings(folder), toolchain)
    assert status(folder).running


def test_two_sandboxes_run_side_by_side(sandbox: Sandbox, api: Api, own: Path) -> None:
    ports, others = state_of(sandbox.folder).ports, state_of(own).ports
    assert not set(ports.values()) & set(others.values())
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "only-here"}}
    with api_of(own) as other:
        other.create(MAPS, manifest)
    assert "only-here" not in [item["metadata"]["name"] for item in api.get(MAPS)["items"]]
    assert status(sandbox.folder).running
    assert status(own).running


def test_an_add_on_is_added_to_a_running_sandbox_and_its_data_stays(own: Path, toolchain: Toolchain) -> None:
    settings = small_settings(own)
    first = up(settings, toolchain)
    with api_of(own) as api:
        api.apply(f"{MAPS}/kept", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    assert status(own).addons == ()
    progress = Recording()
    second = up(structs.replace(settings, addons=("jobset",)), toolchain, progress)
    assert "the add-on kube-scheduler is installed too: jobset cannot run without it" in progress.lines
    assert "new in this sandbox: jobset, kube-scheduler; all components are restarted on its data" in progress.lines
    assert second == first, "kubeconfigs that were copied must go on working"
    with api_of(own) as api:
        assert api.get(f"{MAPS}/kept")["metadata"]["name"] == "kept"


def test_up_restarts_killed_components_on_the_same_data_with_the_add_on(own: Path, toolchain: Toolchain) -> None:
    up(structs.replace(small_settings(own), addons=("jobset",)), toolchain)
    with api_of(own) as api:
        api.apply(f"{MAPS}/kept", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    before = state_of(own)
    progress = Recording()
    up(small_settings(own), toolchain, progress)  # without naming it, as after a change of the environment
    assert progress.lines == [f"the sandbox in {own} is up already"]
    assert state_of(own) == before

    killed = ["kube-apiserver", "jobset-controller-manager"]
    for process in before.processes:
        if process.name in killed:
            os.kill(process.pid, signal.SIGKILL)
    until(lambda: [row.name for row in status(own).components if not row.running] == killed)
    assert not status(own).running
    progress = Recording()
    up(small_settings(own), toolchain, progress)
    assert "7 of 9 components of an earlier start still run; all are restarted" in progress.text
    assert status(own).running
    assert status(own).addons == ("jobset", "kube-scheduler")
    with api_of(own) as api:
        assert api.get(f"{MAPS}/kept")["metadata"]["name"] == "kept"
    after = state_of(own)
    assert len(after.processes) == len(COMPONENTS) + 2
    assert after.ports == before.ports, "kubeconfigs that were copied must go on working"
    assert not {p.pid for p in before.processes} & {p.pid for p in after.processes}


def test_down_after_a_crash_stops_the_other_components_and_no_other_process(sandbox: Sandbox, own: Path) -> None:
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


def test_a_component_that_fails_is_named_with_its_log(tmp_path: Path, toolchain: Toolchain) -> None:
    folder = tmp_path / "broken"
    broken = structs.replace(toolchain.control_plane, stages=(tmp_path / "no-such-stage.yaml",))
    with pytest.raises(SandboxError) as caught:
        up(small_settings(folder), structs.replace(toolchain, control_plane=broken))
    assert caught.value.message == "kwok ended"
    assert "no-such-stage.yaml" in "\n".join(caught.value.details)
    assert str(folder / "logs" / "kwok.log") in caught.value.fix
    assert _running(folder) == []


@pytest.mark.shows("a folder of somebody else")
def test_up_and_down_refuse_a_folder_with_other_files(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "thesis.tex").touch()
    for act in (lambda: up(small_settings(tmp_path), toolchain), lambda: down(tmp_path)):
        with pytest.raises(SandboxError, match=r"holds thesis\.tex"):
            act()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
