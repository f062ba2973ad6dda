"""`logs`, `exec` and `port-forward` on real nodes: while the API server restarts, and for a user who may only read."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.engine.conftest import live_of, own_project
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_rights import RBAC, kubeconfig, post
from trainform.console.progress import SILENT
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.ports import pick_ports
from trainform.local.sandbox.real.load import full_name
from trainform.local.sandbox.real.start import load_images
from trainform.local.sandbox.state import read_state
from trainform.local.toolchain.ensure import environment
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("the output of containers, which simulated nodes do not have")
# Prints until it is stopped, ten lines a second, two of them at once.
TALKS = """
step=0
while [ ! -e stop ]; do
  printf 'step %s\\nstep %s\\n' $step $((step + 1))
  step=$((step + 2))
  sleep 0.2
done
printf 'the \\033[31mend\\033[0m\\033]0;title\\007'
"""
# Each worker fails once, the second one first.
FAILS = """
if [ -e /dev/shm/again ]; then echo runs again; sleep 600; fi
touch /dev/shm/again
[ $RANK = 1 ] || sleep 6
echo fails as $RANK
exit 3
"""
LINE = re.compile(r"worker/(\d) rank \1 \| step (\d+)")


@pytest.fixture(scope="module")
def nodes(real_sandbox: Sandbox, image: str) -> Sandbox:
    """Return a sandbox with two real nodes that have the image."""
    load_images({image: None}, real_sandbox.folder, SILENT)
    return real_sandbox


@pytest.fixture(scope="module")
def live(nodes: Sandbox) -> Iterator[Live]:
    with contextlib.closing(live_of(nodes)) as live:
        yield live


@pytest.fixture(scope="module")
def project(
    nodes: Sandbox, image: str, live: Live, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Yield a project with a job that talks, `talks.dev`."""
    exports = {**environment(toolchain.pulumi), "KUBECONFIG": str(nodes.kubeconfig)}
    for project in own_project(tmp_path_factory.mktemp("project"), exports, live):
        project.environment(limits={})  # of registries
        project.experiment("talks", job(image, TALKS))
        project.up(project.stack("talks"))
        yield project


def job(image: str, script: str, **parts: Any) -> dict[str, Any]:
    return {
        "image": full_name(image),
        "image_pull_policy": "IfNotPresent",
        "shared_memory": "64Mi",
        "prepare": [{"name": "code", "command": ["sh", "-c", "echo fetched"]}],
        "launcher": {"command": ["sh", "-euc", script]},
        "roles": {"worker": {"replicas": 2}},
        **parts,
    }


class Following:
    """A `trainform` command that runs in the background."""

    def __init__(self, project: Project, path: Path, *words: str) -> None:
        self._path, self._errors = path / "out", path / "err"
        with self._path.open("w") as out, self._errors.open("w") as err:
            command = [sys.executable, "-m", "trainform", *words]
            self.process = subprocess.Popen(command, cwd=project.folder, env=project.environ, stdout=out, stderr=err)

    @property
    def output(self) -> str:
        return self._path.read_text()

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    @property
    def steps(self) -> dict[str, list[int]]:
        """The steps that each worker has printed."""
        found: dict[str, list[int]] = {"0": [], "1": []}
        for index, step in LINE.findall(self.output):
            found[index].append(int(step))
        return found

    def until(self, text: str, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.output + self.errors:
            assert time.monotonic() < deadline, (text, self.output[-500:], self.errors)
            time.sleep(0.1)


@pytest.fixture
def follow(project: Project, tmp_path: Path) -> Iterator[Any]:
    """Start commands that the test ends, or that end with it."""
    started = list[Following]()

    def start(*words: str) -> Following:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Following(project, folder, *words))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@contextlib.contextmanager
def stopped_api_server(sandbox: Sandbox) -> Iterator[None]:
    """Kill the API server, and start it again at the end of the block."""
    state = read_state(Layout(sandbox.folder))
    assert state is not None
    (recorded,) = (process for process in state.processes if process.binary.endswith("kube-apiserver"))
    process = psutil.Process(recorded.pid)
    command, environ, folder = process.cmdline(), process.environ(), process.cwd()
    process.kill()
    process.wait()
    yield
    with Path(recorded.log).open("a") as log:  # by which `down` finds and ends it
        subprocess.run(["setsid", "--fork", *command], env=environ, cwd=folder, stdout=log, stderr=log, check=True)


def test_follow_over_a_restart_of_the_api_server_to_the_end_of_the_job(
    project: Project, live: Live, nodes: Sandbox, follow: Any
) -> None:
    """No line is lost or repeated, whatever the two workers print meanwhile."""
    logs = follow("logs", "talks.dev", "-f")
    logs.until("worker/0 rank 0 | step 8")
    logs.until("worker/1 rank 1 | step 8")
    with stopped_api_server(nodes):
        logs.until("trying again")
        before = logs.steps
        time.sleep(2.0)
    logs.until("connected again")
    until(lambda: all(len(steps) > len(before[each]) + 20 for each, steps in logs.steps.items()), "more lines")

    interrupted = follow("logs", "talks.dev", "-f", "--tail", "0", "--quiet")
    interrupted.until("step")
    interrupted.process.send_signal(signal.SIGINT)
    assert interrupted.process.wait(10) == 130
    assert "Traceback" not in interrupted.errors
    head = project.run("sh", "-c", f"{sys.executable} -m trainform logs talks.dev | head -n 1")
    assert re.fullmatch(r"worker/(\d) rank \1 \| step 0\n", head.output), head.output

    for rank in ("0", "1"):
        project.trainform("exec", "talks.dev", f"worker/{rank}", "--", "touch", "stop").succeeded()
    assert logs.process.wait(120) == 0, logs.errors
    for index, steps in logs.steps.items():
        assert steps == [*range(len(steps))], index
        assert f"worker/{index} rank {index} | the end\n" in logs.output  # without colours, and the title of a window

    last = project.trainform("logs", "talks.dev", "--tail", "1").succeeded()
    assert last.splitlines() == ["worker/0 rank 0 | the end", "worker/1 rank 1 | the end"]
    fetched = project.trainform("logs", "talks.dev", "worker/1", "--step", "code").succeeded()
    assert fetched == "worker/1 rank 1 | fetched\n"
    stamped = project.trainform("logs", "talks.dev").succeeded().splitlines()
    assert len(stamped) == sum(len(steps) for steps in logs.steps.values()) + 2
    refused = project.trainform("exec", "talks.dev", "worker/0", "--", "true").failed()
    assert "cannot exec into a container in a completed pod" in refused


def test_exec_and_port_forward(project: Project, live: Live, image: str, follow: Any) -> None:
    serve = "echo served >page && exec python3 -m http.server 8000"
    project.experiment("serves", job(image, serve))
    project.up(project.stack("serves"))
    until(lambda: project.trainform("exec", "serves.dev", "worker/1", "--", "cat", "page").code == 0, "the page")
    run = ("exec", "serves.dev", "worker/0", "--")
    ran = project.trainform(*run, "sh", "-c", "hostname; exit 7")
    assert (ran.code, ran.output.splitlines()[0]) == (7, f"{project.plan('serves').job}-worker-0")
    many = project.trainform("exec", "serves.dev", "worker", "--", "true")
    assert (many.code, "worker has 2 pods" in many.output) == (2, True)
    assert "kubectl is not on PATH" in project.trainform(*run, "true", PATH=str(Path(sys.executable).parent)).failed()

    (port,) = pick_ports(["page"], {}).values()
    follow("port-forward", "serves.dev", "worker/1", f"{port}:8000").until("Forwarding from")
    assert httpx2.get(f"http://127.0.0.1:{port}/page").text == "served\n"

    viewer = view_only(project, live)
    assert "127.0.0.1" in project.trainform("logs", "serves.dev", "worker/1", KUBECONFIG=viewer).succeeded()
    refused = project.trainform(*run, "true", KUBECONFIG=viewer).failed()
    assert re.fullmatch(r"Error from server \(Forbidden\): pods \"\S+\" is forbidden: [^\n]*pods/exec[^\n]*\n", refused)
    project.destroy("serves.dev")


def view_only(project: Project, live: Live) -> str:
    """Return the kubeconfig of an account with Kubernetes' own role `view`."""
    accounts = f"/api/v1/namespaces/{project.namespace}/serviceaccounts"
    post(live, accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}})
    binding: Mapping[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": project.namespace}],
    }
    post(live, f"{RBAC}/namespaces/{project.namespace}/rolebindings", {**binding})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return kubeconfig(project, post(live, f"{accounts}/viewer/token", request)["status"]["token"], "viewer")


def test_the_first_failed_rank_and_the_run_before_a_restart(project: Project, image: str) -> None:
    project.experiment("fails", job(image, FAILS, restart="on-failure", max_retry=9))
    project.up(project.stack("fails"))
    again = ("logs", "fails.dev", "--tail", "1")
    until(lambda: project.trainform(*again).output.count("runs again") == 2, "both to run again")
    first, second = (f"worker/{rank} rank {rank} | fails as {rank}" for rank in "10")
    assert project.trainform("logs", "fails.dev", "--failed").succeeded().splitlines() == [first, second]
    assert project.trainform("logs", "fails.dev", "--rank", "0", "-p").succeeded().splitlines() == [second]
    project.destroy("fails.dev")
