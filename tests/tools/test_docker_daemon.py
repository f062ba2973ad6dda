"""Which daemon is taken as there, what a dead one leaves, and that only our own is ended."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.tools.test_debian import without_root
from tools import docker_daemon
from tools.debian import NotHereError
from trainform.errors import TrainformError
from trainform.progress import SILENT, Silent
from trainform.sandbox.processes import Command, Process, is_running, launch, stop


class Answers(BaseHTTPRequestHandler):
    """A daemon as far as anyone asks whether it is there."""

    def do_GET(self) -> None:
        body = json.dumps({"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the tests' output."""

    def address_string(self) -> str:
        return "unix"


class Notes(Silent):
    """Keeps the lines that stay."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short path: the name of a socket has at most 107 bytes."""
    return tmp_path_factory.mktemp("d")


@pytest.fixture(autouse=True)
def _own_settings(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/sock")
    monkeypatch.setenv("TRAINFORM_CACHE", str(place / "cache"))


@contextlib.contextmanager
def daemon(path: Path) -> Iterator[None]:
    with socketserver.UnixStreamServer(str(path), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def silent_daemon(path: Path) -> Iterator[None]:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))
        listener.listen()
        yield


def started(folder: Path, script: str) -> Process:
    shell = shutil.which("sh")
    assert shell is not None
    command = Command("dockerd", Path(shell), ["-c", script], folder / "dockerd.log")
    return launch([command], {"PATH": os.defpath}, lambda processes: None)[0]


def test_a_daemon_that_answers_is_left_alone(place: Path) -> None:
    with daemon(place / "sock"):
        assert docker_daemon.version() == "20.10.24"
        docker_daemon.ensure(SILENT)
    assert not (place / "cache").exists()


def test_no_daemon_and_the_socket_of_a_dead_one(place: Path) -> None:
    assert docker_daemon.version() is None
    with silent_daemon(place / "sock"):
        pass
    assert (place / "sock").exists()
    assert docker_daemon.version() is None
    docker_daemon.refuse_to_replace(None, place / "sock")
    docker_daemon.refuse_to_replace("", place / "no-socket")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_daemon_that_hangs_is_not_replaced(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_daemon, "ANSWER_SECONDS", 0.3)
    with silent_daemon(place / "sock"):
        assert docker_daemon.version() is None
        gc.collect()  # docker-py leaves the socket of a question without an answer open: it warns here, not in a later test
        with pytest.raises(TrainformError, match=r"listens at .*/sock, but does not answer within 0\.3 s"):
            docker_daemon.refuse_to_replace(None, place / "sock")


def test_a_daemon_of_docker_host_is_not_started() -> None:
    with pytest.raises(TrainformError, match=r"DOCKER_HOST is unix://.*/sock, but no daemon answers there"):
        docker_daemon.ensure(SILENT)


def test_a_user_without_access_to_the_socket(place: Path) -> None:
    with silent_daemon(place / "sock"):
        (place / "sock").chmod(0)
        with pytest.raises(NotHereError, match="may not connect"), without_root():
            docker_daemon.refuse_to_replace(None, place / "sock")


def test_a_stale_process_id_is_removed(place: Path) -> None:
    path = place / "dockerd.pid"
    docker_daemon.drop_stale(path, "dockerd")  # there is none
    with subprocess.Popen(["true"]) as dead:
        # not waited for: a daemon that was killed is a zombie where nobody collects it
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        for text, owner in ((str(os.getpid()), "dockerd"), ("", "dockerd"), (str(dead.pid), "true")):
            path.write_text(text)
            docker_daemon.drop_stale(path, owner)
            assert not path.exists(), text
    path.write_text(str(dead.pid))
    docker_daemon.drop_stale(path, "true")
    assert not path.exists()


def test_the_process_id_of_a_running_daemon_is_kept(place: Path) -> None:
    path = place / "dockerd.pid"
    with subprocess.Popen(["sleep", "60"]) as alive:
        path.write_text(f"{alive.pid}\n")
        docker_daemon.drop_stale(path, "sleep")
        alive.kill()
    assert path.exists()


def test_a_daemon_that_ends_says_why(place: Path) -> None:
    process = started(place, "echo 'failed to mount overlay: operation not permitted'; exit 1")
    with pytest.raises(TrainformError) as raised:
        docker_daemon.wait(process, lambda: False, 30)
    assert raised.value.message == "dockerd ended at once; the last lines of its log:"
    assert raised.value.details == ("failed to mount overlay: operation not permitted",)
    assert str(place / "dockerd.log") in raised.value.fix


def test_a_daemon_that_never_answers_is_ended(place: Path) -> None:
    process = started(place, "echo waiting for containerd; while :; do sleep 0.1; done")
    while not (place / "dockerd.log").read_text():
        time.sleep(0.01)
    with pytest.raises(TrainformError, match=r"does not answer after 1 s.*\n  \| waiting for containerd"):
        docker_daemon.wait(process, lambda: False, 1)
    assert not is_running(process)


def test_only_a_daemon_that_ensure_started_is_stopped(place: Path) -> None:
    folder = docker_daemon.daemon_folder()
    folder.mkdir(parents=True)
    ours, another = (started(folder, "while :; do sleep 0.1; done") for _ in range(2))
    docker_daemon.write_state(folder, ours)
    docker_daemon.end(SILENT)
    assert (is_running(ours), is_running(another)) == (False, True)
    notes = Notes()
    docker_daemon.end(notes)
    assert notes.lines == ["no daemon was started from here: nothing to stop"]
    assert is_running(another)
    stop([another])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["restart"], 1, "usage: python -m tools.docker_daemon [ensure|stop]\n"),
        ([], 1, "DOCKER_HOST is unix://"),
        (["stop"], 0, "nothing to stop"),
    ],
)
def test_the_command_line(words: list[str], code: int, message: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tools.docker_daemon", *words], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout) == (code, "")
    assert message in run.stderr
    assert "Traceback" not in run.stderr
