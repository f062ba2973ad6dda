"""The pods of a plan with the real launchers: a world goes on after the loss of a pod, and a world that does not form
explains why."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.local.rehearsal.recorded import Recorded
from tests.local.rehearsal.workloads import own_state_folder, run_to_success
from tests.support.samples import experiment, plan
from trainform import defaults
from trainform.local.rehearsal.probe import probed
from trainform.local.rehearsal.run.rehearse import Options, rehearse
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload, pod_name
from trainform.plan import Plan

pytestmark = [pytest.mark.usefixtures("docker_daemon"), pytest.mark.proof("worlds with broken and replaced pods")]
state = pytest.fixture(autouse=True)(own_state_folder)

OUT: dict[str, Any] = {"storage": {"out": {"claim": "checkpoints", "mount": "/out"}}, "shared_memory": "64Mi"}


DEEPSPEED: dict[str, Any] = {
    "launcher": {"deepspeed": {"script": "/app/train.py"}},
    "roles": {
        "master": {"replicas": 1, "accelerators": {"a800": 2}},
        "worker": {"replicas": 2, "accelerators": {"a800": 1}},
    },
    "shared_memory": "64Mi",
}


@dataclasses.dataclass(frozen=True)
class Broken:
    """A way to break the workload of a plan, and the explanation that is expected."""

    breaks: Callable[[Workload, Plan], Workload]
    says: tuple[str, ...]
    wait: str


def without_host_keys(workload: Workload, made: Plan) -> Workload:
    assert made.ssh is not None
    files = workload.secrets[made.ssh.secret]
    return dataclasses.replace(
        workload, secrets={**workload.secrets, made.ssh.secret: {**files, "known_hosts": b"# nobody\n"}}
    )


def with_other_slots(workload: Workload, made: Plan) -> Workload:
    """The same number of slots on the wrong hosts: only the names of the hosts show it."""
    [name] = [name for name, files in workload.config_maps.items() if defaults.HOSTFILE in files]
    files = workload.config_maps[name]
    lines = files[defaults.HOSTFILE].splitlines()
    assert [line.split()[1] for line in lines] == ["slots=2", "slots=1", "slots=1"]
    counts = iter((1, 2, 1))
    text = re.sub(r"slots=\d", lambda _: f"slots={next(counts)}", files[defaults.HOSTFILE])
    return dataclasses.replace(workload, config_maps={**workload.config_maps, name: {**files, defaults.HOSTFILE: text}})


def without_last_pod(workload: Workload, made: Plan) -> Workload:
    return dataclasses.replace(workload, pods=workload.pods[:-1])


def without_host_keys_and_last_pod(workload: Workload, made: Plan) -> Workload:
    """Both at once, because each takes the whole time of the wait."""
    return without_last_pod(without_host_keys(workload, made), made)


BROKEN = {
    "no host key and a missing peer": Broken(
        without_host_keys_and_last_pod,
        (
            "{worker-0}.sdxl-lora: its host key is not in known_hosts",
            "{worker-1}.sdxl-lora: its name is not in DNS; its pod has not been made",
        ),
        wait="20s",
    ),
    "wrong slots": Broken(with_other_slots, ("{master-0} runs 1 process, the plan says 2",), wait="2m"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_world_is_explained(case: str, image: str) -> None:
    parts = {**DEEPSPEED, "network": {"wait": BROKEN[case].wait}}
    made = plan(**parts)
    workload = probed(workload_of_plan(made), made, experiment(**parts).launcher)
    display = Recorded()
    outcome = rehearse(BROKEN[case].breaks(workload, made), Options(image=image, timeout=600), display)
    assert not outcome.succeeded
    names = {f"{pod.role}-{pod.index}": pod.name for pod in made.pods()}
    for words in BROKEN[case].says:
        expected = re.sub(r"{(.*?)}", lambda found: names[found[1]], words)
        assert any(expected in text for _, text in display.lines), display.lines


def committed(folder: Path) -> str:
    """A repository with two commits; the hash of the first."""

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
