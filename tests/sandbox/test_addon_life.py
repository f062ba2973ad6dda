"""Add-ons that come, crash, and are refused. These tests start sandboxes of their own."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.conftest import api_of, small_settings, state_of, until
from tests.toolchain.recording import Recording
from trainform.errors import InputError, SandboxError
from trainform.sandbox import Sandbox, down, status, up
from trainform.sandbox.addons import ADDONS, Installed
from trainform.sandbox.components import COMPONENTS, PORTS
from trainform.sandbox.folder import Layout
from trainform.sandbox.ports import pick_ports
from trainform.sandbox.processes import Process, is_running
from trainform.sandbox.start import Start
from trainform.sandbox.state import State
from trainform.toolchain import BuiltPart, Toolchain

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[Path]:
    """Folder of a sandbox that the test starts."""
    yield tmp_path / "grown"
    down(tmp_path / "grown")


def test_a_running_sandbox_gets_an_add_on_on_its_data_and_keeps_it(grown: Path, toolchain: Toolchain) -> None:
    settings = small_settings(grown)
    first = up(settings, toolchain)
    with api_of(grown) as api:
        api.apply(f"{MAPS}/kept", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    assert status(grown).addons == ()
    progress = Recording()
    second = up(dataclasses.replace(settings, addons=("jobset",)), toolchain, progress)
    assert "the add-on kube-scheduler comes too: jobset cannot do without it" in progress.lines
    assert "new in this sandbox: jobset, kube-scheduler; starting all components again, on its data" in progress.lines
    assert second == first, "kubeconfigs that were copied must go on working"
    with api_of(grown) as api:
        assert api.get(f"{MAPS}/kept")["metadata"]["name"] == "kept"
    before = state_of(grown)
    progress = Recording()
    up(settings, toolchain, progress)  # without naming it, as after a change of the environment
    assert progress.lines == [f"the sandbox in {grown} is up already"]
    assert state_of(grown) == before

    jobset = next(process for process in before.processes if process.name == "jobset-controller-manager")
    os.kill(jobset.pid, signal.SIGKILL)
    until(lambda: [row.name for row in status(grown).components if not row.running] == [jobset.name])
    assert not status(grown).running
    progress = Recording()
    up(settings, toolchain, progress)
    assert "8 of 9 components of an earlier start still run: starting all again" in progress.text
    assert status(grown).running
    assert status(grown).addons == ("jobset", "kube-scheduler")

    left = state_of(grown).processes
    down(grown)
    assert not any(map(is_running, left))
    assert len(left) == len(COMPONENTS) + 2


def test_an_add_on_that_ends_is_named_with_its_log(grown: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    binary = tmp_path / "part" / "bin" / "jobset"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!{shell}\necho 'no such flag: --config'\nexit 2\n")
    binary.chmod(0o755)
    addon = ADDONS["jobset"]
    layout = Layout(grown)
    layout.make()
    state = State(small_settings(grown), toolchain.pulumi, pick_ports([*PORTS, *addon.ports], {}))
    started: list[Process] = []
    start = Start(
        layout, state, toolchain.control_plane, [Installed(addon, BuiltPart(tmp_path / "part"))], started.extend
    )
    with pytest.raises(SandboxError) as caught:
        start.run(time.monotonic() + 60, Recording())
    assert caught.value.message.startswith("jobset-controller-manager ended\n")
    assert "no such flag: --config" in caught.value.message
    assert str(grown / "logs" / "jobset-controller-manager.log") in caught.value.fix
    assert not any(map(is_running, started))


def test_unknown_names_are_refused_before_anything_is_made(grown: Path, toolchain: Toolchain) -> None:
    words = ["sandbox", "up", "--with", "kubeflow,ray", "--folder", str(grown)]
    refused = subprocess.run([sys.executable, "-m", "trainform", *words], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "ray" in refused.stderr
    assert "choose from kubeflow, kueue, jobset" in refused.stderr
    assert not grown.exists()
    with pytest.raises(InputError, match="is no add-on of the sandbox"):
        up(dataclasses.replace(small_settings(grown), addons=("ray",)), toolchain)
    assert not Layout(grown).state.exists()


def ensure_with(names: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "trainform", "toolchain", "ensure", "--with", names]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_add_ons_are_built_ahead(addons: Sandbox) -> None:
    """`addons` has built them all: nothing is left to do."""
    done = ensure_with("trainer,kubedl")
    assert done.returncode == 0, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("pulumi: ")
    refused = ensure_with("trainer,ray")
    assert refused.returncode == 2
    assert "ray" in refused.stderr
