"""A note says what to write if its effect is not wanted; with that, the job is accepted and has the note no more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, plan

HOST: dict[str, Any] = {"network": {"host": True}}
SCRIPT: dict[str, Any] = {"torchrun": {"script": "/app/train.py"}}
V1 = environment(mpi_job="v1")
APART: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"accelerators": {"l40s": 1}}},
}
EXTRA: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
STEP: dict[str, Any] = {"name": "data", "command": ["fetch", "--to", "/mnt/data"]}
ELASTIC: dict[str, Any] = {"torchrun": {**SCRIPT["torchrun"], "elastic": {"min_nodes": 1, "max_nodes": 4}}}
MASTER: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}
DATA: dict[str, Any] = {"data": {"size": "1Ti", "mount": "/mnt/data"}}

BESIDE: dict[str, Any] = {"image": "registry.example.com/logs:1", "command": ["logs", "--follow"]}


def job(**spec: Any) -> dict[str, Any]:
    return {"manifest_overrides": {"job": {"spec": spec}}}


# The end of a note, an experiment that has it, and the experiment in which its advice is followed. {}: the fields are
# left out.
FOLLOWED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("write `shared_memory` with a size", {"shared_memory": None}, {"shared_memory": "1Gi"}),
    ("write `network.ports: per-replica` to let several run on one node", HOST,
        {"network": {"host": True, "ports": "per-replica"}}),
    ("remove it for the plan's", {"env": {"WORLD_SIZE": "16"}}, {}),
    ("write `on: first-pod`, otherwise `on: each-pod`", {"prepare": [STEP], "storage": DATA},
        {"prepare": [{**STEP, "on": "first-pod"}], "storage": DATA}),
    ("leave it out to keep the job", {"ttl": "1h"}, {}),
    ("use the backend volcano", {"backend": "jobset", "launcher": ELASTIC},
        {"backend": "volcano", "launcher": ELASTIC}),
    ("use the backend volcano", {"backend": "kubeflow", "launcher": ELASTIC},
        {"backend": "volcano", "launcher": ELASTIC}),
    ("write `mpi_job: v2beta1` in the environment", {"backend": "kubeflow", "cluster": V1, **APART},
        {"backend": "kubeflow", **APART}),
    ("or use the backend volcano, jobset or trainer", {"backend": "kubedl", "roles": MASTER, "max_retry": 5},
        {"backend": "jobset", "roles": MASTER, "max_retry": 5}),
    ("use the backend volcano, jobset or trainer", {"backend": "kubeflow", "roles": MASTER, **HOST},
        {"backend": "jobset", "roles": MASTER, **HOST}),
    ("use the backend volcano, jobset, trainer or kubedl",
     {"backend": "kubeflow", "roles": MASTER, "prepare": [{**STEP, "on": "first-pod"}]},
     {"backend": "kubedl", "roles": MASTER, "prepare": [{**STEP, "on": "first-pod"}]}),
    ("remove it to have them deleted",
        {"backend": "kubeflow", "roles": MASTER, **job(runPolicy={"cleanPodPolicy": "None"})},
        {"backend": "kubeflow", "roles": MASTER}),
    ("write `restart: never` to end the job at the first failure",
        {"backend": "kubedl", "roles": MASTER, "restart": "on-failure"},
     {"backend": "kubedl", "roles": MASTER, "restart": "never"}),
    ("remove the policy that replaces the plan's policy",
        {"roles": {"worker": {}, "extra": EXTRA}, "policies": []}, {"roles": {"worker": {}, "extra": EXTRA}}),
    ("write the policy `TaskFailed: TerminateJob` to end it at restart 3", {"launcher": ELASTIC},
     {"launcher": ELASTIC, "policies": [{"event": "TaskFailed", "action": "TerminateJob"}]}),
    ("to let it go with the others",
        {"roles": {"worker": {"pod_overrides": {"spec": {"containers": {"logs": BESIDE}}}}}},
     {"roles": {"worker": {"pod_overrides": {"spec": {"initContainers": [{"name": "logs", **BESIDE,
                                 "restartPolicy": "Always"}]}}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("advice", "parts", "followed"), FOLLOWED, ids=[advice for advice, _, _ in FOLLOWED])
def test_who_does_as_a_note_says_has_it_no_more(advice: str, parts: dict[str, Any], followed: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"shared_memory": "1Gi"}
    told = [note for note in plan(**{**usual, **parts}).notes if note.endswith(advice)]
    assert len(told) == 1
    after = plan(**{**usual, **followed}).notes
    assert not [note for note in after if note.endswith(advice)]
