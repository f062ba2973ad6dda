"""MPIJobs of training-operator: the real mpirun starts its daemons on the workers by a stand-in for `kubectl exec`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.workloads import full_name, own_state_folder, pod, run_to_success, with_probe, workload
from tests.support.samples import environment
from trainform.backends.kubeflow.controller import KUBEXEC

pytestmark = [
    pytest.mark.usefixtures("docker_daemon"),
    pytest.mark.rehearsal("the emulation, whose place real nodes take"),
]
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
    "open-mpi-5, many": ({**APART, **DEFAULT_WIDTH, **NARROW_5}, "world formed: 4 processes on 4 nodes", 4),
    "open-mpi-4, many": ({**APART, **DEFAULT_WIDTH, **NARROW_4}, "world formed: 4 processes on 4 nodes", 4),
    "the launcher computes, as a user": ({**COMPUTES, **USER}, "world formed: 6 processes on 3 nodes", 6),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_world_forms(name: str, image: str) -> None:
    parts, formed, processes = WORLDS[name]
    planned, asked = with_probe(cluster=environment(mpi_job="v1"), **parts)
    display = run_to_success(asked, image, timeout=300)
    lines = display.probes(f"{planned.job}-launcher")
    assert formed in lines
    assert len([line for line in lines if line.startswith("rank ")]) == processes
    assert any("`kubectl exec` reaches the pods of this rehearsal" in note for note in display.notes)


# The test below needs no launcher: one pod calls kubectl, and another one is called.
LOCAL = "/opt/kube/kubectl exec"
MOUNTS = [{"name": "kubectl", "mountPath": "/opt/kube"}]
WORKER = full_name("worker-0")
CALLS = f"""
code() {{ "$@" 2>&1 || echo "code $?"; }}
{LOCAL} {WORKER} -- sh -c 'echo "on $(hostname) as $RANK"; echo aside >&2' 2>&1 | sort
{LOCAL} {WORKER} --container main -- sh -c 'cat; echo lost; echo aside >&2' 2>&1 >/dev/null
{LOCAL} {WORKER} -- sh -c 'seq 200000' | cksum
for number in 1 2 3 4 5 6 7 8; do {LOCAL} {WORKER} -- echo "$number" & done | sort | tr '\\n' ' '
echo
code {LOCAL} {WORKER} -- sh -c 'exit 7'
code {LOCAL} {WORKER} -- no-such-program
PATH=/nowhere:$PATH PYTHONHOME=/nowhere {LOCAL} {WORKER} -- echo isolated
"""


def test_the_stand_in_behaves_like_kubectl_and_waits_for_a_late_pod(image: str) -> None:
    delivery = {"name": KUBEXEC.delivery, "image": "registry.example.com/delivery:1", "volumeMounts": MOUNTS}
    volumes = [{"name": "kubectl", "emptyDir": {}}]
    caller = pod("launcher", CALLS, initContainers=[delivery], volumes=volumes, main={"volumeMounts": MOUNTS})
    slow = {"name": "slow", "image": "registry.example.com/slow:1", "command": ["sleep", "5"]}
    rank = {"env": [{"name": "RANK", "value": "5"}]}
    worker = pod("worker-0", "sleep 600", initContainers=[slow], main=rank)
    asked = workload(caller, worker, agent=KUBEXEC, ends_with=frozenset({full_name("launcher")}))
    display = run_to_success(asked, image)
    assert display.of(full_name("launcher")) == [
        f"[waits for pod {WORKER}: it does not run, or its image has no python3]",
        "aside",
        f"on {WORKER} as 5",
        "aside",
        "3581800518 1288895",
        "1 2 3 4 5 6 7 8 ",
        "command terminated with exit code 7",
        "code 7",
        "error: [Errno 2] No such file or directory: 'no-such-program'",
        "command terminated with exit code 126",
        "code 126",
        "isolated",
    ]
