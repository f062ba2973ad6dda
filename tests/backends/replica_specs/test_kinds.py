"""What the controllers of training-operator and KubeDL read in their jobs alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainform.backends.replica_specs.kinds import KINDS, declared_port, rendered_specs, tf_config


def tensorflow(**replicas: int) -> dict[str, Any]:
    pods = {"metadata": {}, "spec": {"containers": [{"name": "tensorflow"}]}}
    specs = {name: {"replicas": count, "template": pods} for name, count in replicas.items()}
    return {
        "kind": "TFJob",
        "metadata": {"name": "mnist-1f3a9c", "namespace": "team-vision"},
        "spec": {"tfReplicaSpecs": specs},
    }


@pytest.mark.parametrize(
    ("ports", "number"),
    [
        ([], 2222),
        ([{"name": "tfjob-port", "containerPort": 7000}], 7000),
        ([{"name": "metrics", "containerPort": 9090}], 2222),
    ],
)
def test_the_declared_port(ports: list[dict[str, Any]], number: int) -> None:
    job = tensorflow(Worker=2)
    rendered_specs(job)["Worker"]["template"]["spec"]["containers"] = [
        {"name": "log", "ports": [{"name": "tfjob-port", "containerPort": 1}]},
        {"name": "tensorflow", "ports": ports},
    ]
    assert declared_port(job, "Worker") == number


def test_tf_config() -> None:
    text = tf_config(tensorflow(Worker=2, PS=1, Evaluator=1), ("Worker", 1), lambda name, index: 2222 + index)
    assert text is not None
    address = "mnist-1f3a9c-{}.team-vision.svc:{}"
    assert json.loads(text) == {
        "cluster": {
            "evaluator": [address.format("evaluator-0", 2222)],
            "ps": [address.format("ps-0", 2222)],
            "worker": [address.format("worker-0", 2222), address.format("worker-1", 2223)],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    assert tf_config(tensorflow(Worker=1), ("Worker", 0), lambda name, index: 2222) is None


def test_only_an_mpijob_has_no_port_of_its_own() -> None:
    assert {name for name, kind in KINDS.items() if not kind.port} == {"MPIJob"}
    assert {name for name, kind in KINDS.items() if kind.port_name is None} == {"MPIJob"}
