"""Rehearsals on real nodes: every launcher, as the operator's own job, on a kubelet.

`make proof` runs a few of them; `make rehearse` runs the others.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.backends.trainer.samples import IMAGE as IMAGE_OF_RUNTIME
from tests.backends.trainer.samples import MPI_APART, TORCH, with_pods, with_spec
from tests.engine.project import Project
from tests.engine.rehearsing import HOW, IMAGE, rehearse
from tests.engine.test_rehearsals import CASES, PAIR, TRAIN, Case, formed
from tests.engine.test_rehearsals_of_operators import NODE, ON, TORCHRUN
from trainform.local.sandbox.state import open_api, read_settings


def namespaces(project: Project) -> list[str]:
    """Return the namespaces of rehearsals that are not being deleted."""
    folder = Path(project.environ["TRAINFORM_SANDBOX"]).with_name("rehearsals")
    with open_api(folder) as api:
        items = api.get("/api/v1/namespaces")["items"]
    names = {item["metadata"]["name"]: item["status"]["phase"] for item in items}
    return [name for name, phase in names.items() if name.startswith("rehearsal-") and phase == "Active"]


# Those that `make proof` runs: agents that meet, SSH as a user, roles that end with others. Another operator has the
# named runtime.
IN_PROOF = ("elastic-pair", "deepspeed-user", "tensorflow")
CLOSEST = pytest.mark.proof("launchers as the operator's own job"), pytest.mark.rehearsal("every launcher once more")
REAL: dict[str, tuple[str, Case]] = {**{name: ("volcano", case) for name, case in CASES.items()}, **ON}
_, ELASTIC = ON["elastic-pytorchjob"]
REAL["elastic-pair"] = ("volcano", ELASTIC)
# A rehearsal has at most two processes on a node.
REAL["deepspeed"] = ("volcano", Case(CASES["deepspeed"].experiment, formed(5, 3), 5))
# On the host network each pod needs another real node.
REAL["accelerate"] = ("volcano", Case({**CASES["accelerate"].experiment, "roles": PAIR}, formed(2, 2), 2))
# Five nodes need ten minutes on cgroup v2.
FEW = {"ps": {"replicas": 1}, "worker": {"replicas": 2}}
TENSORFLOW = {**CASES["tensorflow"].experiment, "roles": FEW}
REAL["tensorflow"] = ("volcano", Case(TENSORFLOW, "cluster formed: 1 ps, 2 worker", 0))
WITH_DEEPSPEED = {"accelerate": {**TRAIN, "launcher_args": ["--use_deepspeed"]}}
REAL["accelerate-deepspeed"] = ("volcano", Case({"launcher": WITH_DEEPSPEED, "roles": PAIR}, formed(2, 2), 2))
HOSTED = {"network": {"host": True}}
REAL["hosted-elastic"] = ("volcano", Case({**ELASTIC.experiment, **HOSTED}, formed(2, 2), 2))
REAL["hosted-trainjob"] = ("trainer", Case({**TORCHRUN.experiment, **HOSTED}, formed(2, 2), 2))


@pytest.mark.parametrize("name", [pytest.param(name, marks=CLOSEST[name not in IN_PROOF]) for name in REAL])
def test_the_world_forms(name: str, real: Project) -> None:
    backend, case = REAL[name]
    output = rehearse(real, name, {**case.experiment, "backend": backend}, "--probe").succeeded()
    assert case.formed in output
    assert len(re.findall(r"probe: rank \d+ of", output)) == case.processes
    assert namespaces(real) == []


NAMED: dict[str, Any] = {
    "backend": "trainer",
    "runtime": {"name": "shared", "file": "runtime.yaml"},
    "launcher": TORCHRUN.experiment["launcher"],
    "roles": {"worker": {**NODE, "replicas": 2}},
}


@pytest.mark.proof("a runtime of a platform team, created from its file")
def test_the_world_forms_on_a_named_runtime(real: Project) -> None:
    (real.folder / "runtime.yaml").write_text(yaml.safe_dump(TORCH))
    output = rehearse(real, "named", NAMED, "--probe").succeeded()
    assert TORCHRUN.formed in output
    assert "emulated" not in output
    assert namespaces(real) == []


# The platform team's image has such settings for ssh, and this sshd; a port below 1024 needs no rights of root then.
SSH_CONFIG = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
SSHD = """
ssh-keygen -q -t ed25519 -N '' -f /tmp/host_key
exec /usr/sbin/sshd -D -e -f /dev/null -h /tmp/host_key -o StrictModes=no -o PidFile=none
"""
HOME = "/home/trainer"
USER_OF_PODS = {
    "securityContext": {
        "runAsUser": 1000,
        "fsGroup": 1000,
        "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "22"}],
    }
}
NAMED_MPI: dict[str, Any] = {
    **NAMED,
    "image": IMAGE_OF_RUNTIME,
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"replicas": 1, "ranked": False}, "worker": {"replicas": 2}},
    "files": {"/etc/ssh/ssh_config.d/rehearsal.conf": {"text": SSH_CONFIG}},
}


@pytest.mark.rehearsal("a runtime of a platform team for MPI, with Trainer's own keys and hosts")
def test_the_world_forms_on_a_named_runtime_for_mpi(real: Project) -> None:
    runtime = with_spec(MPI_APART, {"mlPolicy": {"mpi": {"sshAuthMountPath": f"{HOME}/.ssh"}}})
    served = {"containers": {"node": {"command": ["sh", "-euc", SSHD]}}}
    runtime = with_pods(with_pods(runtime, {**USER_OF_PODS, **served}), USER_OF_PODS, "launcher")
    (real.folder / "runtime.yaml").write_text(yaml.safe_dump(runtime))
    output = rehearse(real, "named-mpi", NAMED_MPI, "--probe").succeeded()
    assert formed(2, 2) in output
    assert "stand-in" not in output, "Trainer makes the Secret itself"
    assert namespaces(real) == []


@pytest.mark.proof("folders of this machine on nodes that end with the rehearsal")
def test_a_folder_takes_the_place_of_a_claim(real: Project, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("from this machine\n")
    script = "cat /data/given && echo $RANK >/data/rank-$RANK"
    experiment = {
        "launcher": {"command": ["sh", "-euc", script]},
        "roles": {"worker": {"replicas": 2}},
        "storage": {"data": {"claim": "imagenet", "mount": "/data"}},
    }
    output = rehearse(real, "reads", experiment, "--claim", f"imagenet={tmp_path}").succeeded()
    assert output.count("| from this machine") == 2
    assert [(tmp_path / f"rank-{rank}").read_text() for rank in (0, 1)] == ["0\n", "1\n"]
    folder = Path(real.environ["TRAINFORM_SANDBOX"]).with_name("rehearsals-with-claims")
    assert read_settings(folder) is None
    assert "no pod mounts such a claim" in rehearse(real, "reads", experiment, "--claim", f"coco={tmp_path}").failed()


def says(then: str) -> dict[str, Any]:
    """Return an experiment of two pods that say their rank; the second one then does something else."""
    script = f'echo "I am $RANK"; test "$RANK" = 0 || {then}'
    return {"launcher": {"command": ["sh", "-c", script]}, "roles": {"worker": {"replicas": 2}}}


@pytest.mark.parametrize(
    ("then", "limit", "lines"),
    [
        ("exit 3", "1m", ["worker-1 failed, exit code 3: I am 1"]),
        ("sleep 600", "40s", ["the job did not end within 40 s (--timeout)", "worker-1 still runs after"]),
    ],
    ids=["fails", "hangs"],
)
@pytest.mark.proof("jobs that do not end well")
def test_a_rank_that(then: str, limit: str, lines: list[str], real: Project) -> None:
    output = rehearse(real, "broken", says(then), "--timeout", limit).failed()
    assert [line for line in lines if line not in output] == []
    assert namespaces(real) == []


ONE = {"worker": {"replicas": 1, "command": ["sh", "-c", 'echo "I am $RANK"; exit 42']}}


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"prepare": [{"name": "data", "command": ["sh", "-c", "echo no route to the store; exit 4"]}]},
            "worker-0 failed, data: exit code 4: no route to the store",
        ),
        ({"restart": "1 times"}, "worker-1 failed, exit code 42: I am 1"),
        ({"restart": {"exit_codes": [42]}, "roles": ONE}, "worker-0 failed, exit code 42: I am 0"),
    ],
    ids=["prepare", "restarts", "made-anew"],
)
@pytest.mark.rehearsal("failures outside of the program's only run")
def test_a_failure_that_is_not_the_last_state_of_a_program(parts: dict[str, Any], line: str, real: Project) -> None:
    assert line in rehearse(real, "outside", {**says("exit 42"), **parts}).failed()


@pytest.mark.rehearsal("a role without ranks, which never ends the job")
def test_a_job_that_succeeds_without_one_of_its_pods(real: Project) -> None:
    extra = {"replicas": 1, "ranked": False, "command": ["sh", "-c", "echo no such flag; exit 3"]}
    roles = {"worker": {"replicas": 1, "command": ["sleep", "5"]}, "extra": extra}
    output = rehearse(real, "partly", {"launcher": {"command": ["true"]}, "roles": roles}).failed()
    assert "extra-0 failed, exit code 3: no such flag" in output
    assert "the operator reports the job as succeeded" in output
    assert re.search(r"worker-0 +Succeeded", output)


RAISES = "import os; rank = os.environ['RANK']; assert rank == '0', f'no data for rank {rank}'"
DIES = "import os; os.environ['RANK'] == '1' and os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("program", "error"),
    [(RAISES, "AssertionError: no data for rank 1"), (DIES, "torchrun: rank 1 (local_rank: 0), exitcode -9")],
    ids=["raises", "is-killed"],
)
@pytest.mark.rehearsal("what a real kubelet has in the status of a rank that fails")
def test_the_cause_of_death(program: str, error: str, real: Project) -> None:
    experiment = {
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "files": {"/app/train.py": {"text": program}},
        "roles": {"worker": {"replicas": 2}},
    }
    ran = rehearse(real, "dies", experiment)
    assert (ran.code, ran.output.count(" failed, exit code ")) == (1, 1), "rank 0 was stopped with the job"
    assert f"worker-1 failed, exit code 1: {error}" in ran.output
    assert "the operator reports the job as failed" in ran.output


@contextlib.contextmanager
def begun(project: Project, name: str, experiment: dict[str, Any], *words: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a rehearsal that runs: rank 1 has written its line."""
    project.experiment(name, {"image": IMAGE, "shared_memory": "64Mi", **experiment})
    command = [sys.executable, "-m", "trainform", "rehearse", name, *HOW, *words]
    with subprocess.Popen(
        command, cwd=project.folder, env=project.environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("I am 1" in line for line in process.stdout)
        try:
            yield process
        finally:
            process.kill()  # or the block would wait for a rehearsal that hangs


@pytest.mark.rehearsal("nodes that are started twice")
def test_a_folder_is_left_alone_after_a_rehearsal_was_killed(real: Project, tmp_path: Path) -> None:
    data = {"storage": {"data": {"claim": "imagenet", "mount": "/data"}}}
    writes = says("while sleep 0.2; do date >>/data/times; done")
    with begun(real, "writes", {**writes, **data}, "--claim", f"imagenet={tmp_path}") as process:
        process.kill()
    folder = Path(real.environ["TRAINFORM_SANDBOX"]).with_name("rehearsals-with-claims")
    assert read_settings(folder) is not None
    rehearse(real, "next", {"launcher": {"command": ["true"]}, "roles": {"worker": {"replicas": 1}}}).succeeded()
    assert read_settings(folder) is None
    size = (tmp_path / "times").stat().st_size
    time.sleep(1)
    assert (tmp_path / "times").stat().st_size == size


@pytest.mark.proof("signals")
def test_ctrl_c_removes_the_job_and_leaves_the_nodes(real: Project) -> None:
    with begun(real, "endless", says("sleep 600")) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (process.returncode, namespaces(real)) == (130, [])
