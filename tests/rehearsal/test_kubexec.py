"""`kubectl exec` in a rehearsal: the pods that it reaches, the command lines of the stand-in, and the place of the
relay; without Docker."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.test_sources import MPI
from tests.rehearsal.workloads import NAMESPACE, full_name, pod, workload
from tests.support.samples import plan
from trainform.backends.kubeflow.controller import KUBEXEC
from trainform.rehearsal.fewer_processes import with_processes
from trainform.rehearsal.kubexec import client, relay
from trainform.rehearsal.kubexec.bridge import refusal
from trainform.rehearsal.kubexec.delivery import with_relays
from trainform.rehearsal.run.records import FAILED, RUNNING, STOPPED, SUCCEEDED
from trainform.rehearsal.sources import from_plan

WORKLOAD = workload(pod("launcher"), pod("worker-0"))
WORKER = full_name("worker-0")


@pytest.mark.parametrize(
    ("asked", "phase", "says"),
    [
        ({"pod": WORKER}, RUNNING, None),
        ({"pod": WORKER, "container": "main", "namespace": NAMESPACE}, RUNNING, None),
        ({"pod": "etcd-0"}, RUNNING, 'Error from server (NotFound): pods "etcd-0" not found'),
        (
            {"pod": WORKER, "namespace": "kube-system"},
            RUNNING,
            f'Error from server (NotFound): pods "{WORKER}" not found',
        ),
        ({"pod": WORKER}, STOPPED, f'Error from server (NotFound): pods "{WORKER}" not found'),
        (
            {"pod": WORKER},
            SUCCEEDED,
            "error: cannot exec into a container in a completed pod; current phase is Succeeded",
        ),
        ({"pod": WORKER}, FAILED, "error: cannot exec into a container in a completed pod; current phase is Failed"),
        (
            {"pod": WORKER, "container": "sidecar"},
            RUNNING,
            f"Error from server (BadRequest): container sidecar is not valid for pod {WORKER}",
        ),
    ],
)
def test_pods_out_of_reach_get_the_messages_of_kubectl(asked: dict[str, Any], phase: str, says: str | None) -> None:
    assert refusal(asked, WORKLOAD, {WORKER: phase}) == says


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("exec w-0 --container mpi -- /bin/sh -c x", {"pod": "w-0", "container": "mpi", "command": "/bin/sh -c x"}),
        ("exec w-0 -- orted --container 3 -- x", {"pod": "w-0", "command": "orted --container 3 -- x"}),
        (
            "exec -n=ai pod/w-0 -c mpi -- true",
            {"pod": "w-0", "namespace": "ai", "container": "mpi", "command": "true"},
        ),
    ],
)
def test_command_lines_that_the_stand_in_accepts(words: str, request_: dict[str, Any]) -> None:
    assert client.parsed(words.split()) == {**request_, "command": request_["command"].split()}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("get pods", "kubectl get: a rehearsal has no API server"),
        ("", "no API server"),
        ("exec -it w-0 -- sh", "-it: is not known"),
        ("exec w-0 w-1 -- sh", "w-1: is not known"),
        ("exec w-0 --container", "--container: is not known"),
        ("exec w-0 --", "at least one command"),
        ("exec -- sh", "must specify a pod"),
    ],
)
def test_command_lines_that_the_stand_in_refuses(words: str, says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        client.parsed(words.split())


@pytest.mark.parametrize("module", [client, relay])
def test_the_programs_run_on_python_3_8(module: Any) -> None:
    """They need Python 3.8 and nothing of trainform, and hold nothing that a kubelet would take for a variable."""
    text = Path(module.__file__).read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("trainform")]
    assert "$(" not in text
    assert "$$" not in text


def test_the_relay_replaces_the_init_container_that_brings_kubectl() -> None:
    made = plan(backend="kubeflow", **MPI)
    planned = from_plan(made)
    launcher, *workers = with_relays(planned).pods
    (before,), (after,) = planned.pods[0]["spec"]["initContainers"], launcher["spec"]["initContainers"]
    assert after["image"] == launcher["spec"]["containers"][0]["image"] != before["image"], "which has no Python"
    assert (after["name"], after["volumeMounts"]) == (KUBEXEC.delivery, before["volumeMounts"])
    assert after["command"][-3:-1] == [KUBEXEC.client, KUBEXEC.hostfile]
    assert "command" not in before, "the workload that is passed in does not change"
    assert tuple(workers) == planned.pods[1:]
    (note,) = with_relays(planned).notes
    assert note.startswith(f"{made.job}-launcher: `kubectl exec` reaches the pods of this rehearsal")


def test_a_workload_without_an_agent_has_no_relay() -> None:
    delivering = {"name": KUBEXEC.delivery, "image": "delivery:1"}
    for asked in (workload(pod("launcher", initContainers=[delivering])), from_plan(plan(**MPI))):
        assert with_relays(asked) is asked


def test_fewer_processes_change_only_files_that_are_as_planned() -> None:
    """The operator rewrites `discover_hosts.sh` while pods start."""
    mixed = {**MPI, "roles": {**MPI["roles"], "worker": {"replicas": 2, "accelerators": {"a800": 2}}}}
    planned, smaller = from_plan(plan(backend="kubeflow", **MPI)), from_plan(plan(backend="kubeflow", **mixed))
    ((name, files),) = [(name, files) for name, files in planned.config_maps.items() if "hostfile" in files]
    (fewer,) = [files for files in smaller.config_maps.values() if "hostfile" in files]
    assert files["hostfile"] != fewer["hostfile"]
    live = workload(config_maps={name: {**files, "discover_hosts.sh": "#!/bin/sh\n"}})
    planned_as = workload(config_maps={name: files})
    found = with_processes(live, planned_as, workload(config_maps={name: fewer})).config_maps[name]
    assert found == {**fewer, "discover_hosts.sh": "#!/bin/sh\n"}
