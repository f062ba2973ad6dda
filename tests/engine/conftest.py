"""A project and a namespace for each test; the sandbox is one for the whole run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.support.repository import ROOT
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.sandbox.state import read_state
from trainform.local.toolchain.ensure import ensure, environment
from trainform.local.toolchain.tools import Toolchain
from trainform.spec.load import load_environment

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """Return the real tool chain, built where it is missing (`make setup` shows the progress of that)."""
    return ensure()


def _start(folder: Path, toolchain: Toolchain, environment: str = "dev") -> Sandbox:
    offered = load_environment(environment, ROOT).or_raise()
    return up(settings_from_environment(offered, folder), toolchain)


@pytest.fixture(scope="package")
def sandbox(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Sandbox]:
    """Yield a control plane that offers what the environment `dev` says. It ends with the tests of this folder: also an
    idle one costs time."""
    folder = tmp_path_factory.mktemp("sandbox") / "cluster"
    yield _start(folder, toolchain)
    down(folder)


@pytest.fixture(scope="package")
def sandbox_exports(sandbox: Sandbox, toolchain: Toolchain) -> dict[str, str]:
    """Return the variables with which `pulumi` works on the sandbox."""
    return {**environment(toolchain.pulumi), "KUBECONFIG": str(sandbox.kubeconfig)}


def live_of(sandbox: Sandbox) -> Live:
    """Return a client of the cluster."""
    return Live(sandbox.url, Certificates(Layout(sandbox.folder).pki))


@pytest.fixture(scope="package")
def live(sandbox: Sandbox) -> Iterator[Live]:
    """Yield the live cluster."""
    live = live_of(sandbox)
    yield live
    live.close()


@pytest.fixture(scope="module")
def prod_sandbox(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Sandbox]:
    """Yield a second control plane, that offers what the environment `prod` says. It ends with the tests of the
    file."""
    folder = tmp_path_factory.mktemp("prod") / "cluster"
    yield _start(folder, toolchain, "prod")
    down(folder)


@pytest.fixture(scope="module")
def twin_sandbox(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Sandbox]:
    """Yield a second control plane, with the contexts of the first one. It ends with the tests of the file."""
    folder = tmp_path_factory.mktemp("twin") / "cluster"
    yield _start(folder, toolchain)
    down(folder)


@pytest.fixture(scope="module")
def twin_live(twin_sandbox: Sandbox) -> Iterator[Live]:
    """Yield the live cluster that may be taken for the first one."""
    live = live_of(twin_sandbox)
    yield live
    live.close()


@pytest.fixture(scope="module")
def exports_of_both(sandbox: Sandbox, prod_sandbox: Sandbox, sandbox_exports: dict[str, str]) -> dict[str, str]:
    """Return the variables with which `pulumi` works on both clusters: each context leads to its own."""
    return {**sandbox_exports, "KUBECONFIG": os.pathsep.join(str(each.kubeconfig) for each in (sandbox, prod_sandbox))}


@pytest.fixture
def volcano_controller(sandbox: Sandbox) -> psutil.Process:
    """Volcano's controller, which opens queues and makes pods."""
    state = read_state(Layout(sandbox.folder))
    assert state is not None
    return psutil.Process(
        next(
            process.pid
            for process in state.processes
            if process.binary.endswith("controller-manager") and "kube" not in process.binary
        )
    )


@pytest.fixture(scope="session")
def addons_live(addons: Sandbox) -> Iterator[Live]:
    """Yield the live cluster with the other operators."""
    live = live_of(addons)
    yield live
    live.close()


@pytest.fixture(scope="session")
def addons_environ(addons_exports: dict[str, str], toolchain: Toolchain) -> dict[str, str]:
    """Return the variables with which `pulumi` works on the cluster with the other operators."""
    return {**environment(toolchain.pulumi), "KUBECONFIG": addons_exports["KUBECONFIG"]}


@pytest.fixture
def addons_project(tmp_path: Path, addons_environ: dict[str, str], addons_live: Live) -> Iterator[Project]:
    """Yield a project on the cluster with the other operators."""
    yield from own_project(tmp_path, addons_environ, addons_live)


def own_namespace(live: Live) -> Iterator[str]:
    """Yield the name of a new namespace, which is deleted at the end."""
    name = f"t-{next(_numbers)}"
    live.make_namespace(name)
    yield name
    live.delete("namespaces", name)
    # mpi-operator's Job waits until its pod has failed, which a kubelet would say; the namespace waits for the pod
    live.request("DELETE", f"/apis/batch/v1/namespaces/{name}/jobs?propagationPolicy=Background")
    # pods are deleted ten seconds before their gangs, which the previews of the next test would show as waiting
    live.request("DELETE", live.path("podgroups", name))
    # queues have no namespace; one that a test left must not meet the next test
    for queue in live.names("queues") - {"default", "root"}:
        live.delete("queues", queue)


def own_project(folder: Path, exports: dict[str, str], live: Live) -> Iterator[Project]:
    """Yield a project whose environment `dev` lives in a namespace of its own, which is deleted at the end."""
    for name in own_namespace(live):
        project = Project(folder / "project", exports, name)
        project.environment()
        project.environ["PULUMI_SKIP_CHECKPOINTS"] = "true"  # a state after each step is for those that are killed
        yield project


@pytest.fixture
def project(tmp_path: Path, sandbox_exports: dict[str, str], live: Live) -> Iterator[Project]:
    """Yield a project of the test's own."""
    yield from own_project(tmp_path, sandbox_exports, live)


@pytest.fixture(scope="module")
def shared_project(
    tmp_path_factory: pytest.TempPathFactory, sandbox_exports: dict[str, str], live: Live
) -> Iterator[Project]:
    """One project for all tests of a file; never beside `project`, with whose namespace all queues go."""
    yield from own_project(tmp_path_factory.mktemp("shared"), sandbox_exports, live)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, image: str) -> Iterator[Project]:
    """Yield a project whose rehearsals have real nodes, which stay up from one test to the next."""
    folder = tmp_path_factory.mktemp("real")
    project = Project(folder / "project", {"TRAINFORM_SANDBOX": str(folder / "sandbox")}, "lab")
    project.environment()
    yield project
    for each in ("rehearsals", "rehearsals-with-claims"):
        down(folder / each)


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    """How many experiments are generated: `--examples`."""
    number: int = request.config.getoption("--examples")
    return number
