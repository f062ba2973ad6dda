"""What the rehearsals expect of their image: users, commands, versions. tests/engine/test_rehearsals.py tests that its
launchers form worlds on CPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import cast

import docker
import pytest

pytestmark = pytest.mark.proof("the image of the rehearsals, which the others use")

TRAINER = "1000:1000"
SCRATCH = "/tmp"  # noqa: S108 - of a container
Shell = Callable[..., str]


@pytest.fixture(scope="module")
def shell(image: str) -> Iterator[Shell]:
    """Runs a script in one container of the image and returns its output; a script that fails is an error."""
    with contextlib.closing(docker.from_env(timeout=180)) as client:
        container = client.containers.run(image, detach=True, init=True, shm_size="256m", network_mode="none")

        def run(script: str, user: str = "0:0", **environment: str) -> str:
            variables = {"HOME": SCRATCH, "OMP_NUM_THREADS": "1", **environment}
            words = ["timeout", "150", "bash", "-ec", script]
            code, output = container.exec_run(words, user=user, workdir=SCRATCH, environment=variables)
            text = cast(bytes, output).decode()
            assert code == 0, text
            return text

        try:
            yield run
        finally:
            container.remove(force=True)


def test_the_image_has_its_users_and_commands(shell: Shell) -> None:
    assert shell("id -un; echo ~trainer; stat -c '%U %a' ~trainer", user=TRAINER).split() == [
        "trainer", "/home/trainer", "trainer", "700",
    ]  # fmt: skip
    commands = ["python", "python3", "torchrun", "accelerate", "deepspeed", "pdsh", "mpirun", "git", "ip", "ps", "ssh"]
    assert len(shell(f"command -v {' '.join(commands)} /usr/sbin/sshd /opt/openmpi4/bin/mpirun").split()) == 13


def test_sshd_has_its_folder_and_no_key_of_its_own(shell: Shell) -> None:
    assert shell("test -d /run/sshd; ls /etc/ssh | grep -c host_ || true") == "0\n"


def test_the_image_has_the_versions_of_training_images(shell: Shell) -> None:
    found = shell("/usr/bin/mpirun --version | head -1; /opt/openmpi4/bin/mpirun --version | head -1")
    assert [line.split(") ")[1][0] for line in found.splitlines()] == ["5", "4"]
    assert shell("python -c 'import torch; print(torch.__file__)'").startswith("/usr/lib/python3/dist-packages/")
