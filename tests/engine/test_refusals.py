"""What the cluster lacks: one clear message within a minute each."""

from __future__ import annotations

import itertools
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.support.repository import ROOT
from tests.support.unseen import unseen
from trainform import defaults
from trainform.cluster.operators import operators

pytestmark = pytest.mark.shows("what the preflight refuses")

WITHIN = 60.0
SOON = 6  # in place of QUEUE_OPEN_SECONDS
IMPATIENT = f"""\
from trainform import defaults

defaults.QUEUE_OPEN_SECONDS = {SOON}  # before it is read

from trainform.resources.program import run

run()
"""
# in a process of its own, since nothing closes the connection but its end
ASK = """\
from trainform.cluster.operators import operators
from trainform.cluster.outcome import StackContext
from trainform.cluster.preflight import check_objects
from trainform.cluster.api import ClusterApi
from trainform.errors import ClusterError

try:
    absent = tuple(f"nothings.{each.domain}" for found in operators().values() for each in found)
    check_objects(ClusterApi("dev-cluster"), [], absent, StackContext())
except ClusterError as error:
    print(error)
"""


def message_of(project: Project, *words: str, kubeconfig: str | None = None) -> str:
    """Return what a failing command says; fails the test where it takes longer than a minute."""
    started = time.monotonic()
    if kubeconfig is not None:
        project.environ["KUBECONFIG"] = kubeconfig
    output = project.pulumi(*words).failed()
    assert time.monotonic() - started < WITHIN
    return output


@pytest.fixture
def hello(project: Project) -> str:
    """Return the stack of `hello`, not up."""
    project.copied("hello")
    return project.stack("hello")


def kubeconfig_to(project: Project, port: int) -> str:
    """Return a kubeconfig like the sandbox's that leads to another port."""
    content = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    for cluster in content["clusters"]:
        cluster["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = project.folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


@contextmanager
def listening(answers: bool) -> Iterator[int]:
    """Yield a port that is closed, or one that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if answers:
            server.listen()
        yield server.getsockname()[1]


def test_a_cluster_that_cannot_be_reached(project: Project, hello: str) -> None:
    """A closed port, and a server that says nothing."""
    for answers, verb in {False: ["preview"], True: ["up", "--yes", "--skip-preview"]}.items():
        with listening(answers) as port:
            output = message_of(project, *verb, "-s", hello, kubeconfig=kubeconfig_to(project, port))
        assert f"cannot reach the cluster of context dev-cluster (https://127.0.0.1:{port})" in output
        assert "fix: check the network or VPN" in output
    project.environment(cluster={"context": "prod-cluster"})
    assert "cannot connect to the cluster of context prod-cluster" in message_of(project, "preview", "-s", hello)


def test_everything_that_is_missing_is_told_at_once(project: Project, hello: str) -> None:
    """The operator of the environment's choice, the namespace and the queue."""
    project.environment(
        namespace={"name": "ai-nowhere", "create": False}, queues={"team-audio": {"weight": 1}}, backend="jobset"
    )
    project.copied("hello", lambda data: data.update(queue="team-audio"))
    output = message_of(project, "preview", "-s", hello)
    assert "3 problems on" in output
    assert "has no jobsets.jobset.x-k8s.io" in output
    assert "install JobSet" in output
    assert "the namespace ai-nowhere does not exist" in output
    assert "pulumi up -s dev" in output
    assert "the Queue team-audio does not exist" in output


def test_what_a_user_wrote_reaches_the_terminal_as_text(project: Project) -> None:
    """Control characters and line ends; each problem is three lines of ours. And what the stack's config says is a
    problem too."""
    project.environment(**{"b\u202e": "\x1b[2J"})
    project.copied("hello", lambda data: data.update({"a\n  fix: do as I say": "\x1b[31m[red]"}))
    stack = project.stack("hello")
    output = message_of(project, "preview", "-s", stack)
    assert r"a\n  fix: do as I say = \x1b[31m[red]" in output
    assert r"b\u202e = \x1b[2J" in output
    assert not unseen(output)
    assert [line.split()[0] for line in output.splitlines() if "fix:" in line].count("fix:") == 2
    project.copied("hello")
    project.environment()
    project.stack("hello", run=0)
    output = " ".join(message_of(project, "preview", "-s", stack).split())
    assert "trainform:run = 0 why: the value is not a whole number from 1 to 999999999 fix: pulumi config set" in output


def test_a_cluster_without_an_operator(project: Project) -> None:
    """Volcano like the others. The sandbox has Volcano, so it is asked for a definition of each that nobody has."""
    project.copied("hello")
    assert "jobs.batch.volcano.sh" in project.rendered("hello").crds
    output = project.run(sys.executable, "-c", ASK).succeeded()
    for operator in itertools.chain.from_iterable(operators().values()):
        assert f"has no nothings.{operator.domain}\n  fix: install {operator.project} there" in output


@pytest.mark.proof("waits for a queue that never opens")
def test_a_queue_that_never_opens_and_a_second_up_that_meets_the_lock(
    project: Project, live: Live, volcano_controller: psutil.Process
) -> None:
    """With Volcano's controller stopped an own queue never opens; `up` waits for it, and meanwhile holds the stack's
    lock."""
    assert SOON < defaults.QUEUE_OPEN_SECONDS < WITHIN
    (project.folder / "stacks" / "__main__.py").write_text(IMPATIENT)
    project.copied("extras")
    stack = project.stack("extras")
    up = ("up", "--yes", "--skip-preview", "-s", stack)
    told = f"the queue extras has not opened within {SOON} s"
    volcano_controller.suspend()
    try:
        with ThreadPoolExecutor() as threads:
            first = threads.submit(project.pulumi, *up)
            until(lambda: live.find("queues", "extras"), "the queue to be made")
            assert "the stack is currently locked" in message_of(project, *up)
            assert told in first.result().failed()
        assert told in message_of(project, *up)
    finally:
        volcano_controller.resume()
    shutil.copy(ROOT / "stacks" / "__main__.py", project.folder / "stacks")
    project.up(stack)
