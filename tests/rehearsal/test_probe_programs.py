"""The functions of the probes that judge a world, and the watch around commands of this machine."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from trainform.rehearsal.probe import PROGRAMS
from trainform.rehearsal.probes import probe_world
from trainform.rehearsal.probes.probe_world import Expected, Member, ProbeError


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


def member(host: str, rank: int, world: int = 3, local_rank: int = 0, local_world: int | None = None) -> Member:
    return Member(host, rank, world, local_rank, local_world)


RIGHT = [member("a", 0), member("a", 1, local_rank=1), member("b", 2)]


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
            [member("a", 0, 2), member("a", 1, 2, 1)],
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
            [member("b", 0), member("a", 1), member("a", 2, local_rank=1)],
            EXPECTED,
            ["rank 0 is on b, the plan says a", "rank 2 is on a, the plan says b"],
        ),
        (
            [member("a", 0), member("a", 1), member("b", 2, local_rank=3)],
            EXPECTED,
            ["LOCAL_RANK 0 on a belongs to rank 0 and 1", "LOCAL_RANK is 3 on b, which runs 1 process"],
        ),
        (
            [*RIGHT[:2], member("b", 2, local_world=2)],
            EXPECTED,
            ["rank 2 on b was told of 2 processes on its node, which runs 1"],
        ),
        ([member("b", 0, 2), member("d", 1, 2)], ELASTIC, []),
        ([member("b", 0, 1)], ELASTIC, ["the world has 1 node, the plan says 2 to 4"]),
        (
            [member("a", 0), member("a", 1, local_rank=1), member("b", 2)],
            ELASTIC,
            ["a runs 2 processes, the plan says 1"],
        ),
    ],
)
def test_the_problems_of_a_world_are_listed(members: list[Member], expected: Expected, problems: list[str]) -> None:
    assert probe_world.world_problems(members, expected, "WORLD_SIZE") == problems


def test_ranks_that_several_processes_have() -> None:
    assert probe_world.rank_clashes(RIGHT, "RANK") == []
    found = [member("b", 1), *RIGHT, member("a", 2), member("c", 2)]
    assert probe_world.rank_clashes(found, "RANK") == [
        "RANK is 1 in 2 processes: on a and on b",
        "RANK is 2 in 3 processes: on a and on b and on c",
    ]


def test_a_line_tells_the_first_few_problems() -> None:
    assert probe_world.in_one_line([]) is None
    assert probe_world.in_one_line([str(number) for number in range(10)]) == "0; 1; 2; 3; 4; 5; 6; 7; and 2 more"


def test_variables_that_did_not_arrive_are_named() -> None:
    """As in an ssh session without the pod's environment."""
    with pytest.raises(ProbeError, match="the launcher did not hand on the pod's variables"):
        probe_world.read_expected({"RANK": "0"})
    with pytest.raises(ProbeError, match="RANK is one, which is not a whole number"):
        probe_world.number({"RANK": "one"}, "RANK")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A probe, imported from its own folder as in a container."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    return import_module


# Of a container whose rank 0 listens on 29500 (0x733C): one peer and itself are connected, and a name server was asked.
SOCKETS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0B00007F:AA35 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 850658 1 0000 100 0 0 10 0
   1: 020016AC:733C 050016AC:D1F8 01 00000000:00000000 00:00000000 00000000     0        0 850659 1 0000 100 0 0 10 0
   2: 020016AC:A0A0 090016AC:0035 01 00000000:00000000 00:00000000 00000000     0        0 850660 1 0000 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue rx_queue tr
   0: 00000000000000000000000000000000:733C 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
   1: 0000000000000000FFFF0000020016AC:733C 0000000000000000FFFF0000020016AC:D1F4 01 00000009:00000000 01:00000014
   2: 0000000000000000FFFF0000020016AC:733C 0000000000000000FFFF0000070016AC:D1F4 06 00000009:00000000 01:00000014
"""


def test_peers_are_found_by_their_connections(program: Any) -> None:
    watch = program("probe_watch")
    assert watch.connected_to(SOCKETS, 29500) == {"172.22.0.2", "172.22.0.5"}
    assert watch.listens(SOCKETS, 29500)
    assert not watch.listens(SOCKETS, 29501)


def watch(*command: str) -> subprocess.Popen[str]:
    """The watch around a command, on this machine."""
    words = [sys.executable, str(PROGRAMS / "probe_watch.py"), *command]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE)


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


TOLD_WHILE_IT_STARTS = """\
import os, signal, subprocess, sys
import probe_watch
class Popen(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Popen
sys.exit(probe_watch.main(["sleep", "20"]))
"""


def test_a_watched_command_gets_a_signal_that_arrives_while_it_starts() -> None:
    ended = subprocess.run([sys.executable, "-c", TOLD_WHILE_IT_STARTS], env={"PYTHONPATH": str(PROGRAMS)}, timeout=20)
    assert ended.returncode == 128 + signal.SIGTERM


CLUSTER = {"ps": ["ps-0.svc:2222"], "worker": ["worker-0.svc:2222", "worker-1.svc:2301"]}
PLANNED = {"TRAINFORM_EXPECT_CLUSTER": '{"ps": 1, "worker": 2}', "TRAINFORM_EXPECT_NAME": "job-worker-1"}


def tf_config(kind: str = "worker", index: int = 1, **cluster: list[str]) -> str:
    return json.dumps({"cluster": {**CLUSTER, **cluster}, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("", "TF_CONFIG is not set on job-worker-1, the plan says 1 ps, 2 worker"),
        ("{", "TF_CONFIG on job-worker-1 is not what TensorFlow reads"),
        (tf_config(worker=["a:1"], index=0), "TF_CONFIG on job-worker-1 has 1 worker, the plan says 2"),
        (tf_config(evaluator=["a:1"]), "TF_CONFIG on job-worker-1 has 1 evaluator, the plan says 0"),
        (tf_config("ps", 0), "TF_CONFIG on job-worker-1 says task ps, the plan says worker"),
        (tf_config(index=2), "TF_CONFIG on job-worker-1 says task worker 2, which its cluster does not have"),
        (tf_config(ps=["ps-0.svc"]), "TF_CONFIG on job-worker-1 has ps 0 at ps-0.svc, which has no port"),
    ],
)
def test_a_wrong_tf_config_is_named(program: Any, config: str, problem: str) -> None:
    tensorflow = program("probe_tensorflow")
    environ = {**PLANNED, "TRAINFORM_EXPECT_TASK": "worker", "TF_CONFIG": config}
    with pytest.raises(Exception, match=problem):
        tensorflow.read_task(environ)


def test_a_single_replica_has_no_tf_config(program: Any) -> None:
    assert program("probe_tensorflow").read_task({"TRAINFORM_EXPECT_CLUSTER": '{"worker": 1}'}) is None


@pytest.mark.parametrize(
    ("kind", "index", "coordinates"), [("worker", 0, True), ("worker", 1, False), ("ps", 0, False)]
)
def test_which_task_coordinates(program: Any, kind: str, index: int, coordinates: bool) -> None:
    task = program("probe_tensorflow").read_task({**PLANNED, "TF_CONFIG": tf_config(kind, index)})
    assert task.coordinates is coordinates


def test_a_process_outside_of_mpirun_is_named(program: Any) -> None:
    with pytest.raises(Exception, match="was not started by Open MPI's mpirun"):
        program("probe_mpi").read_member({}, EXPECTED)
