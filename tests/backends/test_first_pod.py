"""A step of `prepare` with `on: first-pod` runs in one pod of the job, on every operator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import experiment, plan, reasons
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests

STEP: dict[str, Any] = {"name": "data", "command": ["fetch"], "on": "first-pod"}
SCRIPT = {"torchrun": {"script": "/app/train.py"}}
ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 8}}}
EXTRA: dict[str, Any] = {"replicas": 2, "ranked": False, "command": ["python", "watch.py"]}
POOL: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
SHAPES: dict[str, dict[str, Any]] = {
    "pool": {"launcher": SCRIPT, "roles": POOL},
    "workers": {"launcher": SCRIPT, "roles": {"worker": {"replicas": 4}}},
    "elastic": {"launcher": ELASTIC, "roles": {"worker": {"replicas": 4}}},
    "extras": {"launcher": SCRIPT, "roles": {"extra": EXTRA, **POOL}},
    "of an extra": {"launcher": SCRIPT, "roles": {**POOL, "extra": EXTRA}, "prepare": [{**STEP, "roles": ["extra"]}]},
    "paused": {"launcher": SCRIPT, "roles": {"extra": {**EXTRA, "replicas": 0}, **POOL},
        "prepare": [{**STEP, "roles": ["extra", "worker"]}]},
    "ports": {"launcher": SCRIPT, "roles": {"worker": {"replicas": 3}},
        "network": {"host": True, "ports": "per-replica"}},
    "mpi": {"launcher": {"mpi": {"command": ["/app/train"]}}, "roles": POOL},
    "mpi apart": {"launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
        "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 3}}},
    "tensorflow": {"launcher": {"tensorflow": {"command": ["python"]}},
        "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}},
}  # fmt: skip
FIRST = {
    "mpi apart": "launcher",
    "pool": "master",
    "mpi": "master",
    "extras": "master",
    "of an extra": "extra",
    "tensorflow": "ps",
}


def index_of(pod: dict[str, Any], container: dict[str, Any]) -> str:
    """What the container sees as the index of its replica."""
    (entry,) = (entry for entry in container["env"] if entry["name"] == "TRAINFORM_REPLICA_INDEX")
    if "value" in entry:
        return str(entry["value"])
    label = entry["valueFrom"]["fieldRef"]["fieldPath"].removeprefix("metadata.labels['").removesuffix("']")
    return str(pod["metadata"]["labels"][label])


def runs(pod: dict[str, Any]) -> bool:
    for container in pod["spec"].get("initContainers", []):
        if container["name"] == "data":
            guarded = "/etc/trainform/first_pod.sh" in container["command"]
            return not guarded or index_of(pod, container) == "0"
    return False


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_step_runs_in_one_pod(shape: str, backend: str) -> None:
    parts = {"prepare": [STEP], **SHAPES[shape], "backend": backend}
    if reasons(**parts):
        pytest.skip("the operator has no such job")
    made = plan(**parts)
    pods, _ = BACKENDS[backend].pods(made, job_manifests(made))
    running = [pod["metadata"]["labels"][defaults.ROLE_LABEL] for pod in pods if runs(pod)]
    assert running == [FIRST.get(shape, "worker")]


@pytest.mark.parametrize("shape", SHAPES)
def test_some_operator_has_each_shape(shape: str) -> None:
    assert experiment(**SHAPES[shape])
    assert not all(reasons(**{"prepare": [STEP], **SHAPES[shape], "backend": backend}) for backend in BACKENDS)
