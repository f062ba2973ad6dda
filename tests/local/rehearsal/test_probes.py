"""The probes of PyTorch and TensorFlow in the pods of a plan: the variable or host that they name when the world does
not form. tests/engine/test_rehearsals.py tests from the cluster that worlds form under every launcher."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tests.local.rehearsal.workloads import changed, own_state_folder, run_rehearsal, run_to_success, with_probe
from trainform.local.rehearsal.probe import MOUNT

pytestmark = [
    pytest.mark.usefixtures("docker_daemon"),
    pytest.mark.rehearsal("the emulation, whose place real nodes take"),
]
state = pytest.fixture(autouse=True)(own_state_folder)

TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python3", "/app/train.py"]}},
    "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 2}, "evaluator": {"replicas": 1}},
}


@pytest.mark.shows("a probe")
def test_a_single_process(image: str) -> None:
    made, asked = with_probe(roles={"worker": {"replicas": 1}})
    (pod,) = made.pods()
    assert run_to_success(asked, image).probes(pod.name)[-1] == "world formed: 1 process on 1 node"


@pytest.mark.shows("a probe that finds a mistake")
def test_a_wrong_world_size_is_named(image: str) -> None:
    made, asked = with_probe()
    for place in range(2):
        asked = changed(asked, place, WORLD_SIZE="3")
    outcome, display = run_rehearsal(asked, image, grace=60)
    assert not outcome.succeeded
    for pod in made.pods():
        assert display.probes(pod.name) == ["WORLD_SIZE is 3, the plan says 2"]


def test_missing_peers_are_named(image: str) -> None:
    """One pod runs and hangs, another one was not started."""
    made, asked = with_probe(roles={"worker": {"replicas": 4}})
    asked = changed(asked, 0, TRAINFORM_PROBE_TIMEOUT="12")
    asked = changed(asked, 2, "sleep", "600")
    asked = dataclasses.replace(asked, pods=asked.pods[:3])
    _, display = run_rehearsal(asked, image, grace=8)
    first, second, hangs, gone = made.pods()
    (reported,) = display.probes(first.name)
    assert display.probes(second.name) == [reported]
    assert reported.startswith(f"the world did not form within 12 s: missing: rank 2 ({hangs.name}: ")
    assert reported.endswith(f" did not join), rank 3 ({gone.name}: the name {gone.address} does not resolve)")


def test_the_coordinator_stays_until_every_worker_has_found_every_task(image: str) -> None:
    """Worker 1 sees the parameter server long after worker 0 has its sum."""
    made, asked = with_probe(**TENSORFLOW)
    _, first, second, late = made.pods()
    config = {
        "cluster": {"ps": [f"{late.address}:2222"], "worker": [f"{pod.address}:2222" for pod in (first, second)]},
        "task": {"type": "worker", "index": 1},
    }
    asked = changed(asked, 2, "python3", f"{MOUNT}/probe_tensorflow.py", TF_CONFIG=json.dumps(config))
    asked = changed(asked, 3, "sh", "-c", "sleep 15; exec python3 -m http.server 2222")
    display = run_to_success(asked, image)
    assert display.probes(second.name)[-1] == "worker 1 was reached by the coordinator"
    assert display.probes(first.name)[-1].startswith("cluster formed: 1 ps, 2 worker")


def test_a_missing_task_is_named_and_an_evaluator_is_outside(image: str) -> None:
    made, asked = with_probe(5, **TENSORFLOW)
    for place in (0, 2):
        asked = changed(asked, place, "sleep", "600")
    outcome, display = run_rehearsal(asked, image)
    ps, first, hangs, evaluator = made.pods()
    assert not outcome.succeeded
    assert display.probes(evaluator.name) == ["evaluator 0 is outside of the cluster of 3 tasks"]
    (reported,) = display.probes(first.name)[1:]
    assert reported.startswith(f"the cluster did not form within 5 s: missing: ps 0 ({ps.address} is ")
    assert f"where nothing listens on port 2222), worker 1 ({hangs.address} is " in reported
