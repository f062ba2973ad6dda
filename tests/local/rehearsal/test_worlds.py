"""The pods of a plan with the real launchers: a world that does not form explains why, and code and data come first."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.local.rehearsal.workloads import own_state_folder, run_rehearsal, run_to_success, with_probe
from tests.support.samples import plan
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import pod_name

pytestmark = [
    pytest.mark.usefixtures("docker_daemon"),
    pytest.mark.rehearsal("the emulation, whose place real nodes take"),
]
state = pytest.fixture(autouse=True)(own_state_folder)

OUT: dict[str, Any] = {"storage": {"out": {"claim": "checkpoints", "mount": "/out"}}, "shared_memory": "64Mi"}


DEEPSPEED: dict[str, Any] = {
    "launcher": {"deepspeed": {"script": "/app/train.py"}},
    "roles": {
        "master": {"replicas": 1, "accelerators": {"a800": 2}},
        "worker": {"replicas": 2, "accelerators": {"a800": 1}},
    },
    "shared_memory": "64Mi",
    "network": {"wait": "12s"},
}


def test_a_broken_world_is_explained(image: str) -> None:
    """Without host keys and without the last pod: both at once, because each takes the whole time of the wait."""
    made, workload = with_probe(**DEEPSPEED)
    assert made.ssh is not None
    files = {**workload.secrets[made.ssh.secret], "known_hosts": b"# nobody\n"}
    broken = dataclasses.replace(
        workload, pods=workload.pods[:-1], secrets={**workload.secrets, made.ssh.secret: files}
    )
    outcome, display = run_rehearsal(broken, image)
    assert not outcome.succeeded
    _, first, second = (pod.name for pod in made.pods())
    for expected in (
        f"{first}.sdxl-lora: its host key is not in known_hosts",
        f"{second}.sdxl-lora: its name is not in DNS; its pod has not been made",
    ):
        assert any(expected in text for _, text in display.lines), display.lines


def committed(folder: Path) -> str:
    """Make a repository with two commits, and return the hash of the first."""

    def git(*words: str) -> str:
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
        return subprocess.run(
            ["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True, timeout=30
        ).stdout.strip()

    folder.mkdir()
    git("init", "-q")
    (folder / "train.py").write_text("print('the pinned state')\n")
    git("add", ".")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    (folder / "train.py").write_text("print('of today')\n")
    git("commit", "-qam", "second")
    return first


@pytest.mark.shows("steps before the launcher")
def test_code_and_data_are_prepared_before_the_launcher_starts(image: str, tmp_path: Path) -> None:
    """A checkout of a commit that is no branch's last, and a step that reads it and writes to a claim."""
    commit = committed(tmp_path / "code")
    address = "https://git.example.com/code.git"
    mirrored = {  # no server is in reach: git's own settings map the address to the claim, and allow that
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "url.file:///out/code.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
        "GIT_ALLOW_PROTOCOL": "file",
    }
    made = plan(
        launcher={"command": ["sh", "-ec", "python /code/train.py; cat /out/data"]},
        roles={"worker": {"replicas": 1}},
        prepare=[
            {"name": "code", "git": {"repository": address, "commit": commit, "path": "/code"}, "env": mirrored},
            {"name": "data", "command": ["sh", "-ec", "echo data of $SET for $(cat /code/train.py) >/out/data"]},
        ],
        env={"SET": "laion"},
        **OUT,
    )
    display = run_to_success(workload_of_plan(made), image, claims={"checkpoints": tmp_path}).of(
        pod_name(workload_of_plan(made).pods[0])
    )
    assert display[-2:] == ["the pinned state", "data of laion for print('the pinned state')"]
    assert f"trainform: {address} at {commit} in /code" in display
