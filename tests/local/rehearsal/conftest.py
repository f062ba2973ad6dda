"""What the rehearsals need: a Docker daemon, and the image with the launchers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.rehearsal.probed_pods import Cluster, Clusters
from tests.support.samples import plan
from tools import docker_daemon as daemon
from tools.debian import NotHereError
from trainform.console.progress import SILENT


@pytest.fixture(scope="session")
def docker_daemon() -> None:
    """A daemon that answers. `make rehearse` and `.ci/run` start one; this fixture does not."""
    if daemon.version() is None:
        pytest.skip("no Docker daemon answers: `make rehearse` starts one and runs these tests")


@pytest.fixture(scope="session")
def image(docker_daemon: None) -> str:
    """The name of the image with the real launchers; built where it is missing, which takes minutes."""
    from tools import rehearsal_image  # only here: most of these tests need no image

    try:
        return rehearsal_image.ensure(SILENT)
    except NotHereError as error:
        pytest.skip(f"the rehearsal image cannot be built on this machine: {error.message}")


@pytest.fixture
def clusters(image: str) -> Iterator[Clusters]:
    """A function that makes the network of a plan for pods with a probe. They end with the test."""
    made: list[Cluster] = []

    def make(**parts: Any) -> Cluster:
        made.append(Cluster(image, plan(**parts)))
        return made[-1]

    yield make
    for cluster in made:
        cluster.remove()
