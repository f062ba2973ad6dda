"""The functions of the probes that judge a world, and the watch around commands of this machine."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from trainform.local.rehearsal.probe import PROGRAMS
from trainform.local.rehearsal.probes import probe_world
from trainform.local.rehearsal.probes.probe_world import Expected, Member, ProbeError


@pytest.mark.parametrize("name", sorted(path.name for path in PROGRAMS.glob("*.py")))
def test_the_programs_run_on_python_3_8(name: str) -> None:
    """They need Python 3.8, and nothing of trainform but the files beside them."""
    tree = ast.parse((PROGRAMS / name).read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {module for module in modules if module.startswith("trainform")}


EXPECTED = Expected("a", ("a.svc", "b.svc"), {"a": 2, "b": 1}, 3, (2, 2), True, 60)
ELASTIC = Expected("a", ("a.svc", "b.svc"), {"a": 1, "b": 1}, None, (2, 4), False, 60)


def member(host: str, rank: int, world: int = 3) -> Member:
    return Member(host, rank, world)


RIGHT = [member("a", 0), member("a", 1), member("b", 2)]


@pytest.mark.parametrize(
    ("members", "expected", "problems"),
    [
        (RIGHT, EXPECTED, []),
        (
            [member("a", 0, 2), member("b", 1, 2)],
            EXPECTED,
            ["WORLD_SIZE is 2, the plan says 3: a runs 1 process, the plan says 2"],
        ),
        (
            [member("a", 0, 2), member("a", 1, 2)],
            EXPECTED,
            ["WORLD_SIZE is 2, the plan says 3: b runs no process, the plan says 1"],
        ),
        ([*RIGHT[:2], member("b", 2, 4)], EXPECTED, ["WORLD_SIZE is 3 and 4, the plan says 3"]),
        (
            [*RIGHT[:2], member("c", 2)],
            EXPECTED,
            ["b runs no process, the plan says 1", "c runs 1 process, the plan has no such host"],
        ),
        (
            [member("b", 0), member("a", 1), member("a", 2)],
            EXPECTED,
            ["rank 0 is on b, the plan says a", "rank 2 is on a, the plan says b"],
        ),
        ([member("b", 0, 2), member("d", 1, 2)], ELASTIC, []),
        ([member("b", 0, 1)], ELASTIC, ["the world has 1 node, the plan says 2 to 4"]),
        ([member("a", 0), member("a", 1), member("b", 2)], ELASTIC, ["a runs 2 processes, the plan says 1"]),
    ],
)
def test_the_problems_of_a_world_are_listed(members: list[Member], expected: Expected, problems: list[str]) -> None:
    assert probe_world.world_problems(members, expected, "WORLD_SIZE") == problems


def test_variables_that_did_not_arrive_are_named() -> None:
    """As in an ssh session without the pod's environment."""
    with pytest.raises(ProbeError, match="the launcher did not hand on the pod's variables"):
        probe_world.read_expected({"RANK": "0"})
    with pytest.raises(ProbeError, match="RANK is one, which is not a whole number"):
        probe_world.number({"RANK": "one"}, "RANK")


def watch(*command: str, **env: str) -> subprocess.Popen[str]:
    """Start the watch around a command, on this machine."""
    words = [sys.executable, str(PROGRAMS / "probe_watch.py"), *command]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, env={**os.environ, **env})


def test_the_watch_ends_with_the_exit_code_of_its_command() -> None:
    """Also where the command ends by a signal, or cannot be started."""
    with watch("sh", "-c", "exit 7") as child:
        assert (child.communicate(timeout=20)[0], child.returncode) == ("", 7)
    with watch("sh", "-c", "kill -9 $$") as child:
        assert child.wait(timeout=20) == 137
    with watch("/app/launch") as child:
        output = child.communicate(timeout=20)[0]
        assert output.startswith("probe: FileNotFoundError on ")
        assert output.endswith("No such file or directory: '/app/launch'\n")
        assert child.returncode == 1


def test_a_watched_command_gets_the_signals() -> None:
    """The watch is the first process of its pod, so it has to pass the signals that end the pod on to the launcher."""
    with watch("sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=20) == 9


def test_a_launcher_that_never_starts_is_ended_and_missing_nodes_are_named() -> None:
    """torchrun starts no script before all nodes have met."""
    world = {
        "TRAINFORM_EXPECT_NAME": "worker-1",
        "TRAINFORM_EXPECT_HOSTS": json.dumps(["localhost", "worker-1.invalid"]),
        "TRAINFORM_EXPECT_SLOTS": json.dumps({"localhost": 1, "worker-1": 1}),
        "TRAINFORM_EXPECT_NODES": "2",
        "TRAINFORM_EXPECT_PROCESSES": "2",
        "TRAINFORM_PROBE_TIMEOUT": "0",
    }
    silence = "worker-1 does not reach MASTER_ADDR:MASTER_PORT localhost:1: localhost is 127.0.0.1, where nothing"
    with socket.create_server(("localhost", 0)) as server:
        port = str(server.getsockname()[1])
        with (
            watch("sleep", "9", MASTER_PORT=port, **world) as met,
            watch("sleep", "9", MASTER_PORT="1", **world) as silent,
        ):
            for child, reason in ((met, "missing: worker-1 (no such name)"), (silent, f"{silence} listens on port 1")):
                output = child.communicate(timeout=20)[0]
                assert (output, child.returncode) == (f"probe: the world did not form within 0 s: {reason}\n", 1)


@pytest.mark.parametrize("name", ["job-node-0", "job-node-0-xv6lj"])
def test_the_name_of_a_jobs_pod_ends_with_random_letters(name: str) -> None:
    environ = {"TRAINFORM_EXPECT_NAME": name, "TRAINFORM_EXPECT_SLOTS": json.dumps({"job-node-0": 1})}
    assert probe_world.own_name(environ) == "job-node-0"
