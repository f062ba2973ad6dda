"""`trainform wait` of plain Jobs on a real API server: each exit code, and a server that goes away."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.kubelet import fails, succeeds
from tests.engine.live import Live
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import PATIENCE, Project
from trainform.local import forward

pytestmark = pytest.mark.proof("each end of a job, as `wait` reports it")

SMALL, LARGE = {"cpu": 1, "memory": "1Gi"}, {"cpu": 100_000, "memory": "1Gi"}
JOBS = {"good": SMALL, "bad": SMALL, "deleted": SMALL, "large": LARGE}


@contextlib.contextmanager
def program(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program meanwhile, and end it in each case."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def waiting(project: Project, *words: str, **environ: str) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Run `trainform wait` meanwhile."""
    command = [sys.executable, "-m", "trainform", "wait", *words]
    return program(command, cwd=project.folder, env={**project.environ, **environ}, stdout=subprocess.PIPE)


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code, and the last line without its time."""
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out.splitlines()[-1].partition(" ")[2]


@pytest.fixture
def jobs(project: Project, live: Live) -> Project:
    """Three jobs that run, and one that is too large for every node."""
    project.environment(backend="kubernetes")
    for name, resources in JOBS.items():
        project.experiment(
            name,
            {
                "image": "registry.example.com/ai/pytorch-training:latest",
                "launcher": {"command": ["python", "/app/train.py"]},
                "roles": {"worker": {"replicas": 2, **resources}},
            },
        )
    project.up(stack_of(project, "all", list(JOBS)))
    return project


def as_user(name: str, project: Project, path: Path) -> str:
    """Write the kubeconfig of a user without rights; its path."""
    config: dict[str, Any] = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    for entry in config["users"]:
        entry["user"]["as"] = name
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_the_exit_code_says_how_a_job_has_ended(jobs: Project, live: Live, tmp_path: Path) -> None:
    assert jobs.trainform("wait", "good", "-e", "dev", "--for", "running").succeeded().endswith(" running\n")
    assert jobs.trainform("wait", "good", "-e", "dev", "--timeout", "1s").code == 6
    ran = jobs.trainform("wait", "large", "-e", "dev", "--timeout", "60s")
    assert ran.code == 5, ran.output
    assert f"{jobs.plan('large').job} queued: " in ran.output
    ran = jobs.trainform("wait", "good", "-e", "dev", KUBECONFIG=as_user("alice", jobs, tmp_path / "alice"))
    assert ran.code == 1, ran.output
    assert "this account has no permission to " in ran.output
    with contextlib.ExitStack() as stack:
        good, bad, deleted = (stack.enter_context(waiting(jobs, name, "-e", "dev")) for name in [*JOBS][:3])
        for pod in pods_of(live, jobs.plan("good")).values():
            succeeds(live, pod)
        fails(live, next(iter(pods_of(live, jobs.plan("bad")).values())))
        job = f"/apis/batch/v1/namespaces/{jobs.namespace}/jobs/{jobs.plan('deleted').job}"
        assert live.request("DELETE", f"{job}?propagationPolicy=Background").status_code == 200
        assert end_of(good) == (0, f"{jobs.plan('good').job} succeeded")
        code, last = end_of(bad)
        assert (code, last.startswith(f"{jobs.plan('bad').job} failed: ")) == (4, True), last
        code, last = end_of(deleted)
        assert (code, last.startswith(f"{jobs.plan('deleted').job} gone: ")) == (7, True), last


def route(kubeconfig: Path, port: int) -> tuple[str, list[str]]:
    """Return a kubeconfig through a port of this machine, and the program behind that port."""
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    server = next(entry["cluster"]["server"] for entry in config["clusters"])
    host, _, target = server.removeprefix("https://").partition(":")
    for entry in config["clusters"]:
        entry["cluster"]["server"] = f"https://127.0.0.1:{port}"
    command = [sys.executable, forward.__file__, json.dumps([["127.0.0.1", port, [[host, int(target)]]]])]
    return yaml.safe_dump(config), command


def test_it_goes_on_when_the_api_server_is_back(jobs: Project, live: Live, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text, command = route(Path(jobs.environ["KUBECONFIG"]), port)
    through = tmp_path / "kubeconfig"
    through.write_text(text)
    jobs.trainform("wait", "good", "-e", "dev", "--for", "running").succeeded()
    name = jobs.plan("good").job
    with (
        program(command) as first,
        waiting(jobs, "good", "-e", "dev", KUBECONFIG=str(through)) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline().endswith(f"{name} running\n")
        first.kill()
        first.wait()
        assert f"{name} running: cannot reach " in process.stdout.readline()
        with program(command):
            assert process.stdout.readline().endswith(f"{name} running\n")
            for pod in pods_of(live, jobs.plan("good")).values():
                succeeds(live, pod)
            assert end_of(process) == (0, f"{name} succeeded")
