"""Fixtures of what runs in Docker: the daemon, real nodes, and the image with the launchers."""

from __future__ import annotations

import pytest

from tools import docker_daemon as daemon
from tools.debian import NotHereError
from trainform.console.progress import SILENT
from trainform.local.docker_daemon import no_real_nodes


@pytest.fixture(scope="session")
def docker_daemon() -> None:
    """Require a daemon that answers. `make rehearse` and `.ci/run` start one; this fixture does not."""
    if daemon.version() is None:
        pytest.skip("no Docker daemon answers: `make rehearse` starts one and runs these tests")


@pytest.fixture(scope="session")
def real_nodes(docker_daemon: None) -> None:
    """Require a machine on which real nodes can run."""
    reason = no_real_nodes()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def image(docker_daemon: None) -> str:
    """Return the name of the image with the real launchers. It is built where it is missing, which takes minutes."""
    from tools import rehearsal_image  # only here: most of these tests need no image

    try:
        return rehearsal_image.ensure(SILENT)
    except NotHereError as error:
        pytest.skip(f"the rehearsal image cannot be built on this machine: {error.message}")
