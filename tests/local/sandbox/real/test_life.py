"""Sandboxes with real nodes are started, killed at random moments, changed and stopped: nothing is left."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.local.sandbox.conftest import api_of, until
from tests.local.toolchain.recording import Recording
from tests.support.sandboxes import REAL_POOL
from trainform.console.progress import SILENT
from trainform.local.docker_daemon import docker_client, docker_errors
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.nodes import REAL_NODES, SIMULATED_NODES, ready_nodes
from trainform.local.sandbox.processes import unrecorded
from trainform.local.sandbox.real import containers, load
from trainform.local.sandbox.real.start import load_images, ready_image
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.sandbox.status import status
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("starts, kills and stops, each with other sandboxes")

CYCLES = 2  # 30 have been run too
SEED = 36  # a start that is killed in its middle and repeated, and one whose state is damaged
BOTH = {"cpu-real-0": True, "cpu-real-1": True}
LONGEST_LIFE = 12.0  # seconds until `up` is killed; it is ready earlier
REPOSITORY = Path(__file__).parents[4]
UP = """
import sys
from pathlib import Path
from tests.local.sandbox.real.test_life import settings
from trainform.local.sandbox.control import up
from trainform.local.toolchain.ensure import ensure

up(settings(Path(sys.argv[1]), 1), ensure())
"""


def settings(folder: Path, real: int | None) -> SandboxSettings:
    """Return the settings of a sandbox with this number of real nodes."""
    return SandboxSettings(folder, (REAL_POOL,), real=real)


@pytest.fixture
def docker(real_nodes: None) -> Iterator[Any]:
    with docker_client(60, "a test") as client:
        yield client


def _containers(docker: Any, folder: Path) -> Iterator[dict[str, Any]]:
    for each in docker.containers(all=True, filters=_label(folder)):
        with contextlib.suppress(*docker_errors()):  # a killed `up` may have asked Docker to remove it
            yield docker.inspect_container(each["Id"])


def _label(folder: Path) -> dict[str, str]:
    return {"label": f"{containers.LABEL}={folder}"}


def _traces(docker: Any, folder: Path) -> set[str]:
    """Return the names by which mounts, cgroups and volumes of the sandbox's containers are recognised."""
    found = set()
    for each in _containers(docker, folder):
        places = [mount["Name"] for mount in each["Mounts"] if mount["Name"] != containers.IMAGES]
        driver = (each.get("GraphDriver") or {}).get("Data") or {}
        found |= {each["Id"], *places, driver.get("MergedDir", ""), each["NetworkSettings"]["SandboxKey"]}
    return found - {""}


def _left_in_docker(docker: Any, folder: Path) -> list[str]:
    volumes = docker.volumes(filters=_label(folder))["Volumes"] or []
    rows = [*docker.containers(all=True, filters=_label(folder)), *docker.networks(filters=_label(folder)), *volumes]
    return [row.get("Id", row.get("Name")) for row in rows]


def _left(docker: Any, folder: Path, traces: set[str]) -> list[str]:
    """Return what is left of a sandbox."""
    processes = [" ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
    places = [*Path("/proc/mounts").read_text().splitlines(), *map(str, Path("/sys/fs/cgroup").glob("**/docker/*"))]
    volumes = [each["Name"] for each in docker.volumes()["Volumes"] or []]
    return [
        *_left_in_docker(docker, folder),
        *(line for line in processes if f"{folder}/" in line),
        *(process.name for process in unrecorded(Layout(folder).logs, [])),
        *(place for place in [*places, *volumes] if any(trace in place for trace in traces)),
    ]


def _wait_for(folder: Path, real_nodes: dict[str, bool]) -> None:
    """Wait until `status` reports these nodes as ready. A kubelet reports NotReady, and Ready milliseconds later. The
    controller manager may handle the first report late: it then taints a ready node, and removes the taint again."""
    until(lambda: status(folder).real_nodes == real_nodes, 10)


def test_starts_kills_and_stops_in_a_row_leave_nothing(docker: Any, toolchain: Toolchain, tmp_path: Path) -> None:
    folder, chance = tmp_path / "sandbox", random.Random(SEED)  # noqa: S311 - not a secret
    traces = set[str]()
    try:
        for cycle in range(CYCLES):
            if cycle % 2:
                up(settings(folder, 1), toolchain)
            else:
                runner = subprocess.Popen([sys.executable, "-c", UP, folder], cwd=REPOSITORY)
                time.sleep(chance.uniform(0.5, LONGEST_LIFE))
                runner.send_signal(signal.SIGKILL)
                runner.wait()
            traces |= _traces(docker, folder)
            again = chance.choice(["up", "damaged", "nothing"])
            if again == "up":
                up(settings(folder, 1), toolchain)
                _wait_for(folder, {"cpu-real-0": True})
                traces |= _traces(docker, folder)
            elif again == "damaged" and folder.exists():
                Layout(folder).state.write_text("{")
            down(folder)
            assert _left(docker, folder, set()) == [], (cycle, again)
        until(lambda: not _left(docker, folder, traces), 10)
        assert len(traces) > CYCLES
    finally:
        down(folder)


NAME = "registry.example.com/team/train:1"
SNAPSHOTS = "/images/io.containerd.snapshotter.v1.overlayfs/snapshots"
BLOBS = "/images/io.containerd.content.v1.content/blobs/sha256"


def _loaded(docker: Any, image: str, folder: Path) -> tuple[list[str], int, int]:
    """Load a new version of the image; return the names in the volume, and the numbers of layers and of other files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        info = tarfile.TarInfo("version")
        info.size = 1 << 20
        archive.addfile(info, io.BytesIO(os.urandom(info.size)))
    docker.import_image_from_data(content.getvalue(), repository=image)
    try:
        assert load_images({image: NAME}, folder, SILENT) == ([NAME], 0)
    finally:
        docker.remove_image(image)
    with load.importer(docker, ready_image(SILENT)) as container:
        names = load._names(docker, container)
        layers, blobs = (load._run(docker, container, ["ls", place]).split() for place in (SNAPSHOTS, BLOBS))
    return names, len(layers), len(blobs)


@pytest.mark.proof("versions of an image")
def test_a_new_version_of_an_image_replaces_the_former_one(
    docker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (containers, load):
        monkeypatch.setattr(module, "IMAGES", f"trainform-test-images-{os.getpid()}")
    image = f"trainform-test-{os.getpid()}"
    uses = ["flock", "--shared", "/images/used", "sleep", "infinity"]  # as a node does
    body = {"Image": ready_image(SILENT), "HostConfig": {"Binds": [f"{containers.IMAGES}:/images"]}, "Entrypoint": uses}
    node, only = "", ([NAME], 1, 2)
    try:
        assert _loaded(docker, image, tmp_path) == only, "a manifest and a configuration, and no archive of the layer"
        node = containers.start_container(docker, body)
        assert _loaded(docker, image, tmp_path)[:2] == ([NAME], 2), "the node may use the first one"
        docker.remove_container(node, force=True)
        node = ""
        assert _loaded(docker, image, tmp_path) == only
    finally:
        if node:
            docker.remove_container(node, force=True)
        containers.Containers(docker, tmp_path).remove_images()


@pytest.mark.rehearsal("a second sandbox")
def test_real_nodes_start_anew_and_end_next_to_another_sandbox(
    docker: Any, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (containers, load):
        monkeypatch.setattr(module, "IMAGES", f"trainform-test-images-{os.getpid()}")  # `--purge` removes them
    own, other = tmp_path / "own", tmp_path / "other"
    try:
        with load.importer(docker, ready_image(SILENT)):
            pass  # as after a `sandbox load` that was killed
        up(settings(own, 2), toolchain)
        up(settings(other, 1), toolchain)
        _wait_for(own, BOTH)

        progress = Recording()
        assert up(settings(own, None), toolchain, progress).real_nodes == 2
        assert progress.lines == [f"the sandbox in {own} is up already"]
        docker.kill(next(_containers(docker, own))["Id"])
        up(settings(own, None), toolchain)
        assert [each["State"]["Running"] for each in _containers(docker, own)] == [True, True]
        _wait_for(own, BOTH)

        progress = Recording()
        assert down(other, progress, purge=True)
        assert "the images of the real nodes stay" in progress.text
        assert _left(docker, other, set()) == []
        assert status(own).real_nodes == BOTH

        up(settings(own, 0), toolchain)
        assert _left_in_docker(docker, own) == []
        assert status(own).running
        with api_of(own) as api:
            assert ready_nodes(api, REAL_NODES) == {}
            assert ready_nodes(api, SIMULATED_NODES) == {"cpu-0": True, "cpu-1": True}
        down(own, purge=True)
        assert containers.IMAGES not in [each["Name"] for each in docker.volumes()["Volumes"]]
        assert not own.exists()
    finally:
        for folder in (own, other):
            down(folder)
