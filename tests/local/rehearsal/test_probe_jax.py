"""The probe of JAX, as processes of this machine. Without JAX, they sign in and are judged; nothing computes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from trainform.local.rehearsal.probe import PROGRAMS

WORLD = {
    "TRAINFORM_EXPECT_HOSTS": json.dumps(["worker-0.resnet", "worker-1.resnet"]),
    "TRAINFORM_EXPECT_SLOTS": json.dumps({"worker-0": 1, "worker-1": 1}),
    "TRAINFORM_EXPECT_NODES": "2",
    "TRAINFORM_EXPECT_PROCESSES": "2",
    "TRAINFORM_EXPECT_ORDER": "plan",
    "TRAINFORM_PROBE_TIMEOUT": "20",
    "JAX_NUM_PROCESSES": "2",
}


FIRST, SECOND = ("worker-0", "0"), ("worker-1", "1")
SOON = {"TRAINFORM_PROBE_TIMEOUT": "1"}


def free_port() -> int:
    with socket.create_server(("", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def probe(*processes: tuple[str, str], **environ: str) -> list[tuple[int, list[str]]]:
    """Return exit code and lines of each process, given as pod and JAX_PROCESS_ID."""
    shared = {**os.environ, **WORLD, "JAX_COORDINATOR_ADDRESS": f"localhost:{free_port()}", **environ}
    started = [
        subprocess.Popen(
            [sys.executable, str(PROGRAMS / "probe_jax.py")],
            env={**shared, "TRAINFORM_EXPECT_NAME": pod, "JAX_PROCESS_ID": number},
            stdout=subprocess.PIPE,
            text=True,
        )
        for pod, number in processes
    ]
    outputs = [child.communicate(timeout=60)[0].splitlines() for child in started]
    return [(child.returncode, lines) for child, lines in zip(started, outputs, strict=True)]


def test_all_processes_sign_in_at_the_coordinator() -> None:
    first, second = probe(FIRST, SECOND)
    none = "the image has no JAX to compute with"
    assert first == (0, [f"probe: rank 0 of 2 on worker-0: {none}", "probe: world formed: 2 processes on 2 nodes"])
    assert second == (0, [f"probe: rank 1 of 2 on worker-1: {none}"])


@pytest.mark.parametrize(
    ("processes", "environ", "problem"),
    [
        (
            [("worker-1", "0"), ("worker-0", "1")],
            {},
            "rank 0 is on worker-1, the plan says worker-0; rank 1 is on worker-0",
        ),
        ([FIRST, SECOND], {"JAX_NUM_PROCESSES": "3"}, "JAX_NUM_PROCESSES is 3, the plan says 2"),
        ([FIRST], SOON, "missing: rank 1 (worker-1: the name worker-1.resnet does not resolve"),
        ([SECOND], SOON, "process 1 on worker-1 does not reach JAX_COORDINATOR_ADDRESS localhost:"),
        ([("worker-1", "2")], {}, "JAX_PROCESS_ID is 2 on worker-1, outside of JAX_NUM_PROCESSES 2"),
        ([SECOND], {"JAX_COORDINATOR_ADDRESS": "worker-0"}, "JAX_COORDINATOR_ADDRESS is worker-0, and has to be HOST:"),
    ],
)
def test_a_wrong_world_is_named(processes: list[tuple[str, str]], environ: dict[str, str], problem: str) -> None:
    for code, lines in probe(*processes, **environ):
        assert code == 1
        assert problem in lines[-1]
