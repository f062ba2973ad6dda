"""What the rehearsals need: a Docker daemon, and the image with the launchers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.rehearsal.probed_pods import Clusters, made_clusters
from tools import docker_daemon as daemon
from tools.debian import NotHereError
from trainform.console.progress import SILENT
from trainform.local.rehearsal.run.rehearse import ENDING


@pytest.fixture(scope="session")
def docker_daemon() -> None:
    """A daemon that answers. `make rehearse` and `.ci/run` start one; this fixture does not."""
    if daemon.version() is None:
        pytest.skip("no Docker daemon answers: `make rehearse` starts one and runs these tests")


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Signals as in a terminal: `nohup make test` ignores the hangup, and the tested programs would inherit that."""
    before = {
        number: signal.signal(number, signal.SIG_DFL) for number in ENDING if signal.getsignal(number) == signal.SIG_IGN
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def image(docker_daemon: None) -> str:
    """The name of the image with the real launchers; built where it is missing, which takes minutes."""
    from tools import rehearsal_image  # only here: most of these tests need no image

    try:
        return rehearsal_image.ensure(SILENT)
    except NotHereError as error:
        pytest.skip(f"the rehearsal image cannot be built on this machine: {error.message}")


@pytest.fixture
def clusters(image: str, tmp_path: Path) -> Iterator[Clusters]:
    """Pods of a probe, which end with the test."""
    yield from made_clusters(image, tmp_path)
