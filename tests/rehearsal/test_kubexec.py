"""`kubectl exec` in a rehearsal: what it may reach, what the stand-in understands, where the relay stands; without Docker."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.stages import NAMESPACE, full, pod, stage
from tests.rehearsal.test_sources import MPI
from tests.samples import plan
from trainform.plan.naming import KUBEXEC
from trainform.rehearsal.kubexec import client, relay
from trainform.rehearsal.kubexec.bridge import refusal
from trainform.rehearsal.kubexec.delivery import with_relays
from trainform.rehearsal.processes import with_processes
from trainform.rehearsal.records import FAILED, RUNNING, STOPPED, SUCCEEDED
from trainform.rehearsal.sources import from_plan

STAGE = stage(pod("launcher"), pod("worker-0"))
WORKER = full("worker-0")


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
def test_what_is_out_of_reach_is_told_in_the_words_of_kubectl(
    asked: dict[str, Any], phase: str, says: str | None
) -> None:
    assert refusal(asked, STAGE, {WORKER: phase}) == says


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
def test_words_that_the_stand_in_understands(words: str, request_: dict[str, Any]) -> None:
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
def test_words_that_it_does_not(words: str, says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        client.parsed(words.split())


@pytest.mark.parametrize("module", [client, relay])
def test_programs_run_in_old_images(module: Any) -> None:
    """Python 3.8, and nothing of ours; nor what the kubelet would take for a variable."""
    text = Path(module.__file__).read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("trainform")]
    assert "$(" not in text
    assert "$$" not in text


def test_the_relay_takes_the_place_of_what_brings_kubectl() -> None:
    made = plan(backend="kubeflow", **MPI)
    planned = from_plan(made)
    launcher, *workers = with_relays(planned).pods
    (before,), (after,) = planned.pods[0]["spec"]["initContainers"], launcher["spec"]["initContainers"]
    assert after["image"] == launcher["spec"]["containers"][0]["image"] != before["image"], "which has no Python"
    assert (after["name"], after["volumeMounts"]) == (KUBEXEC.delivery, before["volumeMounts"])
    assert after["command"][-3:-1] == [KUBEXEC.client, KUBEXEC.hostfile]
    assert "command" not in before, "the stage is left alone"
    assert tuple(workers) == planned.pods[1:]
    (note,) = with_relays(planned).notes
    assert note.startswith(f"{made.job}-launcher: `kubectl exec` reaches the pods of this rehearsal")


def test_other_stages_have_no_relay() -> None:
    delivering = {"name": KUBEXEC.delivery, "image": "delivery:1"}
    for asked in (stage(pod("launcher", initContainers=[delivering])), from_plan(plan(**MPI))):
        assert with_relays(asked) is asked


def test_fewer_processes_file_by_file() -> None:
    """The operator writes `discover_hosts.sh` as pods begin to run."""
    mixed = {**MPI, "roles": {**MPI["roles"], "worker": {"replicas": 2, "accelerators": {"a800": 2}}}}
    planned, smaller = from_plan(plan(backend="kubeflow", **MPI)), from_plan(plan(backend="kubeflow", **mixed))
    ((name, files),) = [(name, files) for name, files in planned.config_maps.items() if "hostfile" in files]
    (fewer,) = [files for files in smaller.config_maps.values() if "hostfile" in files]
    assert files["hostfile"] != fewer["hostfile"]
    live = stage(config_maps={name: {**files, "discover_hosts.sh": "#!/bin/sh\n"}})
    planned_as = stage(config_maps={name: files})
    found = with_processes(live, planned_as, stage(config_maps={name: fewer})).config_maps[name]
    assert found == {**fewer, "discover_hosts.sh": "#!/bin/sh\n"}
