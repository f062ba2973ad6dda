"""Check real nodes on this machine, and print what was measured: `python -m tools.real_nodes`.

A pod has a CPU limit and grows over its memory limit, `hello` completes, and `down` leaves nothing. The exit code is
1 if something differs. `make node-v2` runs it on cgroup v2.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import docker

from trainform.cli.progress import display
from trainform.local.rehearsal.real.objects import path_of
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.folder import FOLDER_VARIABLE
from trainform.local.sandbox.real.containers import LABEL
from trainform.local.sandbox.real.start import ready_image
from trainform.local.sandbox.state import open_api

DOCKERFILE = Path(__file__).parent.parent / "images" / "cgroup-v2" / "Dockerfile"
CGROUPS = Path("/sys/fs/cgroup")
NAME = "registry.example.com/library/python:3.12-slim"  # of the image in `hello`
POD = "/api/v1/namespaces/default/pods/limits"
SECONDS = 600.0
ENDED = ("Succeeded", "Completed", "Failed", "Aborted", "Terminated")
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


def python_image(client: docker.DockerClient, node_image: str) -> str:
    """Return the name of the small image; build it if Docker does not have it."""
    inputs = node_image.encode() + DOCKERFILE.read_bytes()
    name = f"trainform-python:{hashlib.sha256(inputs).hexdigest()[:12]}"
    if not client.images.list(name):
        with DOCKERFILE.open("rb") as file:
            client.images.build(fileobj=file, tag=name, buildargs={"NODE": node_image}, rm=True)
    return name


def run(*words: str) -> str:
    """Run a command of trainform, print how long it took, and return its output. CalledProcessError if it fails."""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "trainform", *words], check=True, stdout=subprocess.PIPE, text=True)
    print(f"trainform {' '.join(words)}: {time.monotonic() - started:.1f} s", flush=True)
    return done.stdout


def ended(api: Api, path: str, phase: Callable[[dict[str, Any]], str | None]) -> dict[str, Any]:
    """Return the status of an object that has ended. AssertionError if it does not in time."""
    end = time.monotonic() + SECONDS
    status: dict[str, Any] = {}
    while phase(status) not in ENDED:
        status = api.get(path).get("status", {})
        assert time.monotonic() < end, f"{path} has not ended: {status}"
        time.sleep(0.2)
    return status


def run_hello(api: Api) -> tuple[str, list[str]]:
    """Apply `hello` with its environment, as `pulumi up` does it; return the job's phase and what its pods wrote."""
    stacks = [json.loads(run("render", stack, "--output", "json", "--quiet")) for stack in ("dev", "hello.dev")]
    for body in chain(*stacks):
        api.apply(path_of(body), body)
    job = next(body for body in stacks[1] if body["kind"] == "Job")
    phase = ended(api, path_of(job), lambda status: status.get("state", {}).get("phase"))["state"]["phase"]
    pods = f"/api/v1/namespaces/{job['metadata']['namespace']}/pods"
    names = sorted(pod["metadata"]["name"] for pod in api.get(pods)["items"])
    return phase, [line for name in names for line in api.lines(f"{pods}/{name}/log")]


def run_pod(api: Api) -> tuple[list[str], str, int]:
    """Run a pod with limits; return what it read of them, and why and with which code it ended."""
    main = {"name": "main", "image": NAME, "command": ["sh", "-c", PROGRAM], "resources": {"limits": LIMITS}}
    spec = {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [main]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "limits"}, "spec": spec}
    api.create(POD.rpartition("/")[0], pod)
    status = ended(api, POD, lambda status: status.get("phase"))
    state = status["containerStatuses"][0]["state"]["terminated"]
    return " ".join(api.lines(f"{POD}/log")).split()[:3], str(state["reason"]), int(state["exitCode"])


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
    client = docker.from_env(timeout=600)
    image = python_image(client, ready_image(display()))
    run("sandbox", "up", "--environment", "dev", "--nodes", "real=1", "--timeout", f"{SECONDS:.0f}")
    try:
        started = client.containers.list(filters={"label": f"{LABEL}={folder}"})
        ids = [str(each.id) for each in started]
        print(f"cgroup v{cgroup_version()}, privileged: {started[0].attrs['HostConfig']['Privileged']}")
        run("sandbox", "load", image, "--as", NAME)
        with open_api(folder) as api:
            started_pod = time.monotonic()
            read, reason, code = run_pod(api)
            print(f"pod with limits {' '.join(read)}: {reason}, {code} ({time.monotonic() - started_pod:.1f} s)")
            assert (read, reason, code) == (EXPECTED, "OOMKilled", 137), EXPECTED
            phase, lines = run_hello(api)
            print(f"hello: {phase}, {lines}")
            assert (phase, lines) == ("Completed", ["rank 0 of 2", "rank 1 of 2"]), lines
    finally:
        run("sandbox", "down")
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
