"""`trainform review --save` and `trainform apply` that are killed: no half-written file, nothing that only half of a
review says, and a clear way on."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.engine.applying import apply, check, failed, refused, reviewed_and_applied, save
from tests.engine.interruption import kill_all
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_interruptions import MOMENTS

pytestmark = pytest.mark.proof("kills at every moment")


def start(project: Project, *words: str) -> subprocess.Popen[bytes]:
    """Start a command in the background, without its output."""
    return subprocess.Popen(
        [sys.executable, "-m", "trainform", *words],
        cwd=project.folder,
        env={**project.environ, "PULUMI_SKIP_CHECKPOINTS": "false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.fixture
def stack(project: Project) -> str:
    """Return the stack of `extras`, not up."""
    project.copied("extras")
    return project.stack("extras")


def engine_of(process: subprocess.Popen[bytes], verb: str) -> psutil.Process:
    """Return the engine that the command has started."""
    return started_by(psutil.Process(process.pid), verb)


def started_by(parent: psutil.Process, word: str) -> psutil.Process:
    """Return the process with this argument, once the parent or a child of it has started it."""

    def found() -> psutil.Process | None:
        for child in parent.children(recursive=True):
            with contextlib.suppress(psutil.Error):  # another one, which has just ended
                if word in child.cmdline():
                    return child
        return None

    return until(found, f"a process with the argument {word}")


def test_a_review_and_an_apply_that_are_killed_before_anything_changes(
    project: Project, live: Live, stack: str
) -> None:
    """No half of a file is left, and the apply can be repeated."""
    file = project.folder / "saved.json"
    for seconds in (0.3, 3.0, 4.5):
        process = start(project, "review", stack, "--save", str(file))
        time.sleep(seconds)
        kill_all(process)
        if file.exists():
            assert json.loads(file.read_text())["saved_review"] == 3
            assert check(project, file).code == 0
            file.unlink()
    file = save(project, stack)
    for seconds in (0.5, 2.0):
        process = start(project, "apply", str(file))
        time.sleep(seconds)
        kill_all(process)
    process = start(project, "apply", str(file))
    engine_of(process, "preview")
    kill_all(process)
    assert live.find_all("jobs", project.namespace) == []
    assert apply(project, file).code == 0
    live.running_pods(project.namespace, 8)


def test_an_apply_that_is_killed_while_it_changes(project: Project, live: Live, stack: str) -> None:
    """The machine loses power: the engine is gone too, and its lock stays."""
    file = save(project, stack)
    process = start(project, "apply", str(file))
    until(lambda: MOMENTS["the queue is made"](live, project.namespace), "the queue")
    kill_all(process)
    refused(apply(project, file), ("state", "written"))
    fresh = save(project, stack)
    failed(apply(project, fresh), 1, "the stack is currently locked", "pulumi cancel")
    project.pulumi("cancel", "--yes", "-s", stack)
    assert apply(project, fresh).code == 0
    live.running_pods(project.namespace, 8)
    project.unchanged(stack)


def test_the_engine_ends_its_work_when_the_command_alone_is_killed(project: Project, live: Live, stack: str) -> None:
    file = save(project, stack)
    process = start(project, "apply", str(file))
    engine = engine_of(process, "up")
    process.kill()
    process.wait()
    psutil.wait_procs([engine], timeout=120)
    live.running_pods(project.namespace, 8)
    project.unchanged(stack)
    refused(apply(project, file), ("state", "written"))


def test_an_apply_that_is_interrupted_gives_back_the_lock(project: Project, live: Live, stack: str) -> None:
    process = start(project, "apply", str(save(project, stack)))
    until(lambda: MOMENTS["the service is made"](live, project.namespace), "the service")
    ends_without_a_lock(project, process, signal.SIGINT)
    process = start(project, "apply", str(save(project, stack)))
    # The engine takes the lock, handles signals, and starts the program with this option, in this order.
    started_by(engine_of(process, "up"), "--monitor")
    ends_without_a_lock(project, process, signal.SIGTERM)
    reviewed_and_applied(project, stack)
    live.running_pods(project.namespace, 8)


def ends_without_a_lock(project: Project, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process.send_signal(number)
    assert process.wait(timeout=120) == 128 + number
    assert [*(project.folder / "state").rglob("locks/**/*.json")] == []
