"""A sandbox with two real nodes, for the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.rehearsal.conftest import docker_daemon
from tests.local.sandbox.conftest import api_of
from trainform.local.docker_daemon import no_real_nodes
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.settings import NodePool, SandboxSettings
from trainform.local.toolchain.tools import Toolchain

__all__ = ["docker_daemon"]

SLOW_SECONDS = 600  # on cgroup v2 (`tools.cgroup_v2`) it takes minutes
POOL = NodePool("cpu", 2, {"cpu": "8", "memory": "4Gi", "pods": "110", "ephemeral-storage": "1Ti"})


@pytest.fixture(scope="session")
def real_nodes(docker_daemon: None) -> None:
    """Require a machine on which real nodes can run."""
    reason = no_real_nodes()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def folder(real_nodes: None, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start the sandbox, and return its folder."""
    folder = tmp_path_factory.mktemp("sandbox") / "real"
    try:
        up(SandboxSettings(folder, (POOL,), real=2), toolchain, timeout=SLOW_SECONDS)
        yield folder
    finally:
        down(folder)


@pytest.fixture(scope="module")
def api(folder: Path) -> Iterator[Api]:
    """Return a client of its API server."""
    with api_of(folder) as api:
        yield api
