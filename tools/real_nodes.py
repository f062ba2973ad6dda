"""Check real nodes on this machine, and print what was measured: `python -m tools.real_nodes`.

A pod has a CPU limit and grows over its memory limit, `hello` is rehearsed, and `down` leaves nothing. The exit code is
1 if something differs. `make node-v2` runs it on cgroup v2.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker

from trainform.cli.progress import display
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import FOLDER_VARIABLE, Layout
from trainform.local.sandbox.nodes import REAL_NODES
from trainform.local.sandbox.real.containers import LABEL
from trainform.local.sandbox.real.start import ready_image
from trainform.local.sandbox.state import read_state

CGROUPS = Path("/sys/fs/cgroup")
NAME = "registry.example.com/library/python:3.12-slim"  # of the image in `hello`
POD = "/api/v1/namespaces/default/pods/limits"
SECONDS = 300.0
# v2, else v1: CPU time in µs per period of 100 ms, and bytes.
PROGRAM = """
cd /sys/fs/cgroup
cat cpu.max memory.max 2>/dev/null ||
  echo $(cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us memory/memory.limit_in_bytes)
python -c 'bytearray(1 << 28)'
"""
LIMITS = {"cpu": "500m", "memory": "64Mi"}
EXPECTED = ["50000", "100000", str(64 << 20)]


def cgroup_version() -> int:
    """Return 1 or 2; the hybrid form is 1."""
    return 2 if (CGROUPS / "cgroup.controllers").exists() else 1


def run(*words: str) -> None:
    """Run a command of trainform, and print how long it took. CalledProcessError if it fails."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "trainform", *words], check=True)
    print(f"[{time.monotonic() - started:.1f} s] trainform {' '.join(words)}", flush=True)


def run_pod(api: Api) -> tuple[list[str], str, int]:
    """Run a pod with limits; return what it read of them, and why and with which code it ended."""
    command = {"command": ["sh", "-c", PROGRAM], "resources": {"limits": LIMITS}}
    spec = {
        "schedulerName": "volcano",
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": NAME, **command}],
    }
    api.create(
        POD.rpartition("/")[0], {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "limits"}, "spec": spec}
    )
    end = time.monotonic() + SECONDS
    while (status := api.get(POD)["status"])["phase"] not in {"Succeeded", "Failed"}:
        assert time.monotonic() < end, f"the pod has not ended: {status}"
        time.sleep(0.2)
    ended = status["containerStatuses"][0]["state"]["terminated"]
    return " ".join(api.lines(f"{POD}/log")).split()[:3], str(ended["reason"]), int(ended["exitCode"])


def seconds_to_ready(node: dict[str, Any]) -> float:
    """Return how long after its creation a node was ready."""
    ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
    times = (
        datetime.datetime.fromisoformat(text)
        for text in (ready["lastTransitionTime"], node["metadata"]["creationTimestamp"])
    )
    last, first = times
    return (last - first).total_seconds()


def left_over(client: docker.DockerClient, ids: list[str]) -> Iterator[str]:
    """Yield what is left of these containers: themselves, their mounts and cgroups."""
    present = {each.id for each in client.containers.list(all=True)}
    mounts = Path("/proc/self/mounts").read_text()
    folders = [folder for folder, _, _ in os.walk(CGROUPS)]
    for each in ids:
        yield from [f"container {each}"] if each in present else []
        yield from [f"a mount of {each}"] if each in mounts else []
        yield from (folder for folder in folders if each in folder)


def check(folder: Path) -> None:
    """Run everything in this folder. AssertionError, or CalledProcessError, where something differs."""
    client = docker.from_env()
    image = ready_image(display())
    run("sandbox", "up", "--environment", "dev", "--nodes", "real=1", "--timeout", f"{SECONDS:.0f}")
    try:
        started = client.containers.list(filters={"label": f"{LABEL}={folder}"})
        ids = [str(each.id) for each in started]
        print(f"cgroup v{cgroup_version()}, privileged: {started[0].attrs['HostConfig']['Privileged']}")
        run("sandbox", "load", image, "--as", NAME)
        state = read_state(Layout(folder))
        assert state is not None
        with Api(state.ports["kube-apiserver"], Certificates(Layout(folder).pki)) as api:
            for node in api.get(REAL_NODES)["items"]:
                print(f"{node['metadata']['name']}: Ready after {seconds_to_ready(node):.0f} s")
            read, reason, code = run_pod(api)
        print(f"limits of the pod: {' '.join(read)}; it ended with {reason}, {code}")
        assert (read, reason, code) == (EXPECTED, "OOMKilled", 137), EXPECTED
    finally:
        run("sandbox", "down")
    try:
        run("rehearse", "hello", "--environment", "dev", "--image", image)
    finally:
        run("sandbox", "down", "--folder", str(folder.with_name("rehearsals")))
    left = [*left_over(client, ids)]
    assert not left, f"left over: {left}"
    print("nothing is left of the containers")


def main() -> None:
    """Check real nodes in a temporary folder."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent).resolve() / "sandbox"
        os.environ[FOLDER_VARIABLE] = str(folder)
        try:
            check(folder)
        except (AssertionError, subprocess.CalledProcessError) as error:
            sys.exit(f"failed: {error}")


if __name__ == "__main__":
    main()
