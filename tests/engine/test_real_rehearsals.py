"""Rehearsals on real nodes: every launcher, as the operator's own job, on a kubelet.

`make proof` runs a few of them; `make rehearse` runs the others.
"""

from __future__ import annotations

import concurrent.futures
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
from tests.engine.project import Project, Ran
from tests.engine.test_rehearsals import CASES, PAIR, TRAIN, Case, formed
from tests.engine.test_rehearsals_of_operators import NODE, ON, TORCHRUN
from trainform.errors import SandboxError
from trainform.local.sandbox.control import down
from trainform.local.sandbox.state import open_api, read_settings
from trainform.running.failure import end_of
from trainform.running.model import Cause, End

IMAGE = "registry.example.com/ai/training:latest"
HOW = ("-e", "dev", "--image", "trainform-rehearsal")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, image: str) -> Iterator[Project]:
    """Yield a project whose rehearsals have real nodes, which stay up from one test to the next."""
    folder = tmp_path_factory.mktemp("real")
    project = Project(folder / "project", {"TRAINFORM_SANDBOX": str(folder / "sandbox")}, "lab")
    project.environment()
    yield project
    down(folder / "rehearsals")


def rehearse(project: Project, name: str, experiment: dict[str, Any], *words: str) -> Ran:
    """Rehearse an experiment."""
    project.experiment(name, {"image": IMAGE, "shared_memory": "64Mi", **experiment})
    return project.trainform("rehearse", name, *HOW, *words, timeout=600)


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
# A rehearsal has at most two processes on a node.
REAL["elastic-pair"] = ("volcano", ON["elastic-pytorchjob"][1])
REAL["deepspeed"] = ("volcano", Case(CASES["deepspeed"].experiment, formed(5, 3), 5))
WITH_DEEPSPEED = {"accelerate": {**TRAIN, "launcher_args": ["--use_deepspeed"]}}
REAL["accelerate-deepspeed"] = ("volcano", Case({"launcher": WITH_DEEPSPEED, "roles": PAIR}, formed(2, 2), 2))
HOSTED = {"network": {"host": True}}
REAL["hosted-elastic"] = ("volcano", Case({**CASES["elastic"].experiment, "roles": PAIR, **HOSTED}, formed(2, 2), 2))
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


@pytest.mark.rehearsal("pods that wait for all others, since nothing holds the job back")
@pytest.mark.parametrize(
    ("name", "backend"), [("pytorchjob", "kubeflow"), ("deepspeed", "jobset"), ("tensorflow", "jobset")]
)
def test_the_world_forms_without_admission(name: str, backend: str, real: Project) -> None:
    real.environment(admission="none")
    _, case = REAL[name]
    try:
        output = rehearse(real, name, {**case.experiment, "backend": backend}, "--probe").succeeded()
    finally:
        real.environment()
    assert case.formed in output


def says(then: str) -> dict[str, Any]:
    """Return an experiment of two pods that say their rank; the second one then does something else."""
    script = f'echo "I am $RANK"; test "$RANK" = 0 || {then}'
    return {"launcher": {"command": ["sh", "-c", script]}, "roles": {"worker": {"replicas": 2}}}


@pytest.mark.parametrize(
    ("then", "limit", "line"),
    [
        ("exit 3", "1m", "worker-1 failed, exit code 3: I am 1"),
        ("sleep 600", "20s", "worker-1 still runs after 1"),
    ],
    ids=["fails", "hangs"],
)
@pytest.mark.proof("jobs that do not end well")
def test_a_rank_that(then: str, limit: str, line: str, real: Project) -> None:
    output = rehearse(real, "broken", says(then), "--timeout", limit).failed()
    assert line in output
    assert namespaces(real) == []


RAISES = "import os; rank = os.environ['RANK']; assert rank == '0', f'no data for rank {rank}'"
DIES = "import os; os.environ['RANK'] == '1' and os.kill(os.getpid(), 9)"


def ends(project: Project) -> Iterator[End]:
    """Yield the ends of pods in namespaces of rehearsals."""
    folder = Path(project.environ["TRAINFORM_SANDBOX"]).with_name("rehearsals")
    if read_settings(folder) is None:
        return
    with open_api(folder) as api:
        for pod in api.get("/api/v1/pods")["items"]:
            end = end_of(pod) if pod["metadata"]["namespace"].startswith("rehearsal-") else None
            if end is not None:
                yield end


@pytest.mark.parametrize(
    ("program", "cause", "message"),
    [
        (RAISES, Cause.EXCEPTION, "AssertionError: no data for rank 1"),
        (DIES, Cause.SIGNAL, "torchrun: rank 1 (local_rank: 0), exitcode -9"),
    ],
    ids=["raises", "is-killed"],
)
@pytest.mark.rehearsal("what a real kubelet has in the status of a rank that fails")
def test_the_cause_of_death(program: str, cause: Cause, message: str, real: Project) -> None:
    experiment = {
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "files": {"/app/train.py": {"text": program}},
        "roles": {"worker": {"replicas": 2}},
    }
    found: dict[str, End] = {}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ran = pool.submit(rehearse, real, "dies", experiment)
        while not ran.done():
            with contextlib.suppress(SandboxError, OSError):
                found |= {end.message: end for end in ends(real)}
            time.sleep(0.2)
    assert "worker-1 failed" in ran.result().output
    assert [end.cause for end in found.values() if end.cause is cause and message in end.message], found


@pytest.mark.proof("signals")
def test_ctrl_c_removes_the_job_and_leaves_the_nodes(real: Project) -> None:
    real.experiment("endless", {"image": IMAGE, "shared_memory": "64Mi", **says("sleep 600")})
    words = [sys.executable, "-m", "trainform", "rehearse", "endless", *HOW]
    process = subprocess.Popen(words, cwd=real.folder, env=real.environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any("I am 1" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (process.returncode, namespaces(real)) == (130, [])
