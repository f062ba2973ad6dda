"""Whoever ends a rehearsal leaves nothing behind; and the verb, through the real entry point: real containers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.local.rehearsal.workloads import docker_objects, own_state_folder
from trainform.local.rehearsal.run.rehearse import ENDING

pytestmark = [
    pytest.mark.usefixtures("docker_daemon"),
    pytest.mark.rehearsal("the emulation, whose place real nodes take"),
]
state = pytest.fixture(autouse=True)(own_state_folder)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Two pods that wait for a file in a claim, and one Secret that is not on this machine."""
    path = tmp_path / "waiting.yaml"
    data = {
        "name": f"waiting-{os.getpid()}",
        "image": "registry.example.com/ai/waiting:1",
        "launcher": {
            "command": [
                "sh",
                "-c",
                'echo "rank $RANK of $WORLD_SIZE"; until [ -e /out/go ]; do sleep 0.1; done; exit $(cat /out/go)',
            ]
        },
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
        "storage": {"out": {"claim": "out", "mount": "/out"}},
        "env": {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}},
    }
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Signals as in a terminal: `nohup make test` ignores the hangup, and the tested programs would inherit that."""
    before = {
        number: signal.signal(number, signal.SIG_DFL) for number in ENDING if signal.getsignal(number) == signal.SIG_IGN
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def start(experiment: Path, image: str, default_signals: None) -> Iterator[Starter]:
    starter = Starter(experiment, image)
    yield starter
    starter.end()


class Starter:
    """Runs `trainform rehearse` beside the test."""

    def __init__(self, experiment: Path, image: str) -> None:
        self.name = experiment.stem
        self.experiment = f"{self.name}-{os.getpid()}"
        self._words = ["rehearse", str(experiment), "-e", "dev", "--emulate", "--image", image]
        self._started: list[subprocess.Popen[str]] = []

    def __call__(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "trainform", *self._words, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ},
        )  # fmt: skip
        self._started.append(process)
        return process

    def until_running(self, process: subprocess.Popen[str]) -> str:
        """Wait until both pods have written a line; the output so far."""
        assert process.stdout is not None
        seen: set[str] = set()
        output = ""
        while len(seen) < 2:
            line = process.stdout.readline()
            assert line, process.communicate()
            output += line
            seen |= {line.split("|")[0].strip()} if "| rank" in line else set()
        assert len(self.docker_objects()) > 4
        return output

    def docker_objects(self) -> list[str]:
        return docker_objects(experiment=self.experiment)

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.mark.usefixtures("hangups_end")
def test_a_signal_removes_everything(start: Starter) -> None:
    """test_ctrl_c_at_any_moment has SIGINT."""
    process = start()
    start.until_running(process)
    for number in (signal.SIGHUP, signal.SIGTERM):  # the impatient
        process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert start.docker_objects() == []


def test_ctrl_c_at_any_moment(start: Starter) -> None:
    """While it still makes what it needs: the network, volumes, sandboxes, containers."""
    for count in (1, 4, 9):
        process = start()
        while len(start.docker_objects()) < count:
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=120)
        assert process.returncode == 130, output
        assert "Traceback" not in output
        assert start.docker_objects() == []


def test_what_a_killed_rehearsal_left_is_removed_by_the_next(start: Starter, tmp_path: Path) -> None:
    killed = start()
    start.until_running(killed)
    killed.kill()
    killed.communicate()
    left = set(start.docker_objects())
    assert left
    (tmp_path / "go").write_text("0")
    following = start("--claim", f"out={tmp_path}")
    out, err = following.communicate(timeout=240)
    assert following.returncode == 0, err
    assert f"removed {len(left)} objects of a rehearsal of {start.experiment} that was killed" in err
    assert start.docker_objects() == []
    assert out.splitlines()[-1] == f"{start.experiment}: 2 pods rehearsed"


def test_two_of_one_experiment_take_turns(start: Starter, tmp_path: Path) -> None:
    """The second one must not remove the containers of the first as leftovers."""
    first = start("--claim", f"out={tmp_path}")
    start.until_running(first)
    second = start("--claim", f"out={tmp_path}")
    assert second.stderr is not None
    assert second.stderr.readline().startswith(f"waiting: process {first.pid} (rehearsal of {start.experiment}) uses ")
    (tmp_path / "go").write_text("0")
    for process in (first, second):
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err


@pytest.mark.shows("the verb `rehearse`")
def test_the_command(start: Starter, tmp_path: Path) -> None:
    """Fewer processes, a stand-in for a Secret, prefixes, the table, and the exit code of pods that fail."""
    process = start("--claim", f"out={tmp_path}", "--timeout", "5m")
    before = start.until_running(process)
    (tmp_path / "written").write_text("4")
    (tmp_path / "written").rename(tmp_path / "go")  # no pod may see it empty
    out, err = process.communicate(timeout=320)
    out = before + out
    assert process.returncode == 1
    assert "worker: 2 CPU processes instead of 8 a800" in out
    assert "Secret hf is not on this machine, so a stand-in takes its place: token = " in out
    assert {"worker-0 | rank 0 of 2", "worker-1 | rank 1 of 2"} <= set(out.splitlines())
    rows = [line.split() for line in out.splitlines() if line.strip().startswith("worker-") and "|" not in line]
    assert [row[:3] for row in rows] == [["worker-0", "Failed", "4"], ["worker-1", "Failed", "4"]]
    problem = err[err.index("trainform: ") :].splitlines()
    assert problem[0] == f"trainform: the rehearsal of {start.experiment} failed:"
    assert problem[1:3] == [f"  | worker-{rank} failed, exit code 4: rank {rank} of 2" for rank in range(2)]
    assert start.docker_objects() == []
