"""What the rehearsals take for granted of their image: users, commands, and launchers that form a world on CPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import cast

import docker
import pytest

TRAINER = "1000:1000"
SCRATCH = "/tmp"  # noqa: S108 - of a container
GLOO = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print(f"world {dist.get_world_size()} sum {total.item():.0f}", flush=True)
dist.destroy_process_group()
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
accelerator = Accelerator()
total = accelerator.reduce(torch.tensor([accelerator.process_index + 1.0]))
print(f"world {accelerator.num_processes} sum {total.item():.0f} by {torch.distributed.get_backend()}", flush=True)
accelerator.end_training()
"""
DEEPSPEED = """
import torch, deepspeed
deepspeed.init_distributed()
total = torch.ones(1)
deepspeed.comm.all_reduce(total)
print(f"world {deepspeed.comm.get_world_size()} sum {total.item():.0f} by {torch.distributed.get_backend()}", flush=True)
torch.distributed.destroy_process_group()
"""
TENSORFLOW = """
import tensorflow as tf
server = tf.distribute.Server(tf.train.ClusterSpec({"worker": ["localhost:2222"]}), job_name="worker", task_index=0)
print(server.target)
"""

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


def test_users_and_commands(shell: Shell) -> None:
    assert shell("id -un; echo ~trainer; stat -c '%U %a' ~trainer", user=TRAINER).split() == [
        "trainer", "/home/trainer", "trainer", "700",
    ]  # fmt: skip
    commands = ["python", "python3", "torchrun", "accelerate", "deepspeed", "pdsh", "mpirun", "git", "ip", "ps", "ssh"]
    assert len(shell(f"command -v {' '.join(commands)} /usr/sbin/sshd /opt/openmpi4/bin/mpirun").split()) == 13


def test_sshd_has_its_folder_and_no_key_of_its_own(shell: Shell) -> None:
    assert shell("test -d /run/sshd; ls /etc/ssh | grep -c host_ || true") == "0\n"


def test_versions(shell: Shell) -> None:
    found = shell("/usr/bin/mpirun --version | head -1; /opt/openmpi4/bin/mpirun --version | head -1")
    assert [line.split(") ")[1][0] for line in found.splitlines()] == ["5", "4"]
    assert shell("python -c 'import torch; print(torch.__file__)'").startswith("/usr/lib/python3/dist-packages/")


def test_torchrun_takes_the_store_that_debians_torch_has(shell: Shell) -> None:
    output = shell(f"cat > gloo.py <<'END'\n{GLOO}\nEND\ntorchrun --nproc-per-node 2 gloo.py", user=TRAINER)
    assert output.count("world 2 sum 3") == 2


def test_accelerate_takes_gloo(shell: Shell) -> None:
    launch = "accelerate launch --multi_gpu --num_machines 1 --num_processes 2 --mixed_precision no --dynamo_backend no"
    script = f"cat > accelerated.py <<'END'\n{ACCELERATE}\nEND\n{launch} accelerated.py"
    assert shell(script, ACCELERATE_USE_CPU="true").count("world 2 sum 3 by gloo") == 2


def test_deepspeed_needs_no_compiler(shell: Shell) -> None:
    script = f"cat > deep.py <<'END'\n{DEEPSPEED}\nEND\ndeepspeed --num_gpus 2 deep.py"
    assert shell(script).count("world 2 sum 2 by gloo") == 2


def test_tensorflow_has_its_server(shell: Shell) -> None:
    assert "grpc://localhost:2222" in shell(f"python -c '{TENSORFLOW}'", TF_CPP_MIN_LOG_LEVEL="3")


@pytest.mark.parametrize("folder", ["/usr", "/opt/openmpi4"])
def test_mpirun(shell: Shell, folder: str) -> None:
    assert shell(f"{folder}/bin/mpirun --oversubscribe -np 2 echo here", user=TRAINER).count("here") == 2
