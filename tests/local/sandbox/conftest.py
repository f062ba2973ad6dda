"""One sandbox for all tests that only read or use it; `test_down` has another one, which its tests break."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.settings import NodePool, SandboxSettings, default_pools
from trainform.local.sandbox.state import State, read_state
from trainform.local.toolchain.ensure import ensure
from trainform.local.toolchain.tools import Toolchain

A800 = {"cpu": "128", "memory": "1Ti", "pods": "110", "baidu.com/a800_80g_cgpu": "8", "rdma/hca": "1"}


def small_settings(folder: Path) -> SandboxSettings:
    """Return settings with four accelerator nodes and two nodes without accelerators."""
    pools = (NodePool("a800", 4, A800, {"trainform.dev/accelerator": "a800"}), *default_pools())
    return SandboxSettings(folder, pools, storage_classes=("cephfs-ssd",), contexts=("dev-cluster",))


def state_of(folder: Path) -> State:
    """Return the stored state of the sandbox in a folder."""
    state = read_state(Layout(folder))
    assert state is not None
    return state


def api_of(folder: Path) -> Api:
    """Return a client of the API server of the sandbox in a folder."""
    return Api(state_of(folder).ports["kube-apiserver"], Certificates(Layout(folder).pki))


def until(met: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until the cluster has reached a state; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """Return the real binaries, built if they are missing."""
    return ensure()


@pytest.fixture(scope="package")
def sandbox(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Start a sandbox. It is stopped after the tests of this folder, since an idle sandbox also needs processor
    time."""
    folder = tmp_path_factory.mktemp("sandbox") / "shared"
    yield up(small_settings(folder), toolchain)
    down(folder)


@pytest.fixture(scope="package")
def api(sandbox: Sandbox) -> Iterator[Api]:
    """Return a client of its API server."""
    with api_of(sandbox.folder) as api:
        yield api
