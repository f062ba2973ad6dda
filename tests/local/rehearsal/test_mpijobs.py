"""MPIJobs of training-operator: the real mpirun starts its daemons on the workers by `kubectl exec`, and the stand-in
behaves like kubectl."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.local.rehearsal.recorded import Recorded
from tests.local.rehearsal.workloads import (
    full_name,
    own_state_folder,
    pod,
    run_rehearsal,
    run_to_success,
    wait_until,
    workload,
)
from tests.support.samples import experiment, plan
from trainform.backends.kubeflow.controller import KUBEXEC
from trainform.errors import MASK
from trainform.local.rehearsal.kubexec import bridge
from trainform.local.rehearsal.probe import probed
from trainform.local.rehearsal.run.rehearse import Options, rehearsal
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload
from trainform.plan import Plan

pytestmark = [pytest.mark.usefixtures("docker_daemon"), pytest.mark.proof("MPIJobs of every kind")]
state = pytest.fixture(autouse=True)(own_state_folder)

WORKERS: dict[str, Any] = {"replicas": 2, "accelerators": {"a800": 2}}
APART: dict[str, Any] = {
    "backend": "kubeflow",
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": WORKERS},
}
COMPUTES: dict[str, Any] = {
    "backend": "kubeflow",
    "launcher": {"mpi": {"command": ["/app/train"]}},
    "roles": {"first": {**WORKERS, "replicas": 1}, "worker": WORKERS},
}
OPEN_MPI_4 = {"env": {"PATH": "/opt/openmpi4/bin:/usr/bin:/bin", "OPAL_PREFIX": "/opt/openmpi4"}}
# Two branches, as if there were more workers than the 64 of Open MPI's own tree
DEFAULT_WIDTH = {"roles": {**APART["roles"], "worker": {"replicas": 4, "accelerators": {"a800": 1}}}}
NARROW_4 = {"env": {**OPEN_MPI_4["env"], "OMPI_MCA_routed_radix": "2"}}
NARROW_5 = {"env": {"PRTE_MCA_prte_routed_radix": "2", "PRTE_MCA_routed_radix": "2"}}
USER = {"run_as": {"user": 1000, "home": "/home/trainer"}}

WORLDS: dict[str, tuple[dict[str, Any], str, int]] = {
    "open-mpi-5": (APART, "world formed: 4 processes on 2 nodes", 4),
    "open-mpi-4": ({**APART, **OPEN_MPI_4}, "world formed: 4 processes on 2 nodes", 4),
    "open-mpi-5, many": ({**APART, **DEFAULT_WIDTH, **NARROW_5}, "world formed: 4 processes on 4 nodes", 4),
    "open-mpi-4, many": ({**APART, **DEFAULT_WIDTH, **NARROW_4}, "world formed: 4 processes on 4 nodes", 4),
    "open-mpi-5, the launcher computes": ({**COMPUTES, **USER}, "world formed: 6 processes on 3 nodes", 6),
    "open-mpi-4, the launcher computes": ({**COMPUTES, **OPEN_MPI_4}, "world formed: 6 processes on 3 nodes", 6),
}


def with_probe(parts: dict[str, Any]) -> tuple[Plan, Workload]:
    planned = plan(**parts)
    return planned, probed(workload_of_plan(planned), planned, experiment(**parts).launcher)


@pytest.mark.parametrize("name", WORLDS)
def test_the_world_forms(name: str, image: str) -> None:
    parts, formed, processes = WORLDS[name]
    planned, asked = with_probe(parts)
    display = run_to_success(asked, image, timeout=300)
    lines = [line.partition("probe: ")[2] for line in display.of(f"{planned.job}-launcher") if "probe: " in line]
    assert formed in lines
    assert len([line for line in lines if line.startswith("rank ")]) == processes
    assert any("`kubectl exec` reaches the pods of this rehearsal" in note for note in display.notes)


def test_a_worker_that_is_missing_is_named(image: str) -> None:
    planned, asked = with_probe(APART)
    outcome, _ = run_rehearsal(dataclasses.replace(asked, pods=asked.pods[:-1]), image)
    reason = f"init container kubectl-delivery: the hostfile names pods that are not there: {planned.job}-worker-1"
    assert outcome.problem == f"{planned.job}-launcher failed, {reason}"


# The tests below need no launcher: one pod calls kubectl, and another one is called.
LOCAL = "/opt/kube/kubectl exec"
MOUNTS = [{"name": "kubectl", "mountPath": "/opt/kube"}, {"name": "config", "mountPath": "/etc/mpi"}]


def calling(script: str, *others: dict[str, Any], **delivery: Any) -> Workload:
    """A pod with kubectl, and the pods of its hostfile."""
    bringing = {"name": KUBEXEC.delivery, "image": "registry.example.com/delivery:1", "volumeMounts": MOUNTS}
    volumes = [{"name": "kubectl", "emptyDir": {}}, {"name": "config", "configMap": {"name": "config"}}]
    caller = pod(
        "launcher", script, initContainers=[{**bringing, **delivery}], volumes=volumes, main={"volumeMounts": MOUNTS}
    )
    hostfile = "".join(f"{other['metadata']['name']} slots=1\n" for other in others)
    return workload(
        caller,
        *others,
        agent=KUBEXEC,
        config_maps={"config": {"hostfile": hostfile}},
        ends_with=frozenset({full_name("launcher")}),
    )


WORKER = full_name("worker-0")
CALLS = f"""
code() {{ "$@" 2>&1 || echo "code $?"; }}
{LOCAL} {WORKER} -- sh -c 'echo "on $(hostname) as $RANK"; echo aside >&2' 2>/dev/null
{LOCAL} {WORKER} -- sh -c 'echo lost; echo aside >&2' 2>&1 >/dev/null
{LOCAL} {WORKER} -- sh -c 'cat; echo end of input'
{LOCAL} {WORKER} -- sh -c 'seq 200000' | cksum
for number in 1 2 3 4 5 6 7 8; do {LOCAL} {WORKER} -c main -- echo "$number" & done | sort | tr '\\n' ' '
echo
code {LOCAL} {WORKER} -- sh -c 'exit 7'
code {LOCAL} {WORKER} -- sh -c 'exec no-such-program'
code {LOCAL} etcd-0 -- true
code {LOCAL} {WORKER} --namespace kube-system -- true
code {LOCAL} {full_name("done-0")} -- true
code {LOCAL} {WORKER} -- echo hunter2-hunter2
PATH=/nowhere:$PATH PYTHONHOME=/nowhere {LOCAL} {WORKER} -- echo isolated
"""

UNTIL_DONE = f"until {LOCAL} {full_name('done-0')} -- true 2>&1 | grep -q completed; do sleep 0.2; done"


@pytest.fixture
def no_lines_about_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line about waiting: on a busy machine workers are late."""
    monkeypatch.setattr(bridge, "QUIET_SECONDS", 600.0)


@pytest.mark.usefixtures("no_lines_about_waiting")
def test_the_stand_in_behaves_like_kubectl(image: str) -> None:
    worker = pod("worker-0", "sleep 600", main={"env": [{"name": "RANK", "value": "5"}]})
    asked = dataclasses.replace(
        calling(f"{UNTIL_DONE}\n{CALLS}", worker), secrets={"account": {"password": b"hunter2-hunter2"}}
    )
    asked = dataclasses.replace(asked, pods=(*asked.pods, pod("done-0", "true")))
    lines = run_to_success(asked, image).of(full_name("launcher"))
    assert [line for line in lines if "no-such-program" not in line] == [
        f"on {WORKER} as 5",
        "aside",
        "end of input",
        "3581800518 1288895",
        "1 2 3 4 5 6 7 8 ",
        "command terminated with exit code 7",
        "code 7",
        "command terminated with exit code 127",
        "code 127",
        'Error from server (NotFound): pods "etcd-0" not found',
        "code 1",
        f'Error from server (NotFound): pods "{WORKER}" not found',
        "code 1",
        "error: cannot exec into a container in a completed pod; current phase is Succeeded",
        "code 1",
        MASK,
        "isolated",
    ]


def test_a_worker_that_is_late_is_waited_for_and_named(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {
        "name": "slow", "image": "registry.example.com/slow:1", "volumeMounts": [{"name": "out", "mountPath": "/out"}],
        "command": ["sh", "-c", "until [ -e /out/go ]; do sleep 0.1; done"],
    }  # fmt: skip
    volumes = [{"name": "out", "persistentVolumeClaim": {"claimName": "out"}}]
    late = pod("worker-0", "sleep 600", initContainers=[slow], volumes=volumes)
    asked = calling(f"{LOCAL} {WORKER} -- echo there", late)
    waiting = "[waits for pods of the hostfile that do not run: worker-0 (Init)]"
    display = Recorded()
    options = Options(image=image, timeout=600, claims={"out": tmp_path})

    def waits() -> bool:
        return display.of(full_name("launcher")) == [waiting]

    with rehearsal(asked, options, display) as running:
        wait_until(running, waits)
        (tmp_path / "go").touch()
        assert running.wait().succeeded
    assert display.of(full_name("launcher")) == [waiting, "there"]
    (tmp_path / "go").unlink()
    display = Recorded()
    with rehearsal(asked, options, display) as running:
        wait_until(running, waits)
        monkeypatch.setattr(running, "_deadline", 0.0)
        assert f"its last line: {waiting}" in running.wait().problem
