"""The TensorFlow probe: real servers that form a cluster over gRPC."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.local.rehearsal.probed_pods import Cluster, Clusters
from trainform.local.rehearsal.probe import MOUNT
from trainform.plan.model import Pod

pytestmark = pytest.mark.proof("every mistake that a probe names")


TENSORFLOW: dict[str, Any] = {"tensorflow": {"command": ["python3", "/app/train.py"]}}
TASKS: dict[str, Any] = {"ps": {"replicas": 1}, "worker": {"replicas": 2}}


def tensorflow(cluster: Cluster, place: int, **env: str) -> Pod:
    """Start a task."""
    cluster_spec: dict[str, list[str]] = {}
    for pod in cluster.pods:
        if pod.role != "evaluator":
            cluster_spec.setdefault(pod.role, []).append(f"{pod.address}:2222")
    pod = cluster.pods[place]
    config = json.dumps({"cluster": cluster_spec, "task": {"type": pod.role, "index": pod.index}})
    return cluster.start(place, ["python3", f"{MOUNT}/probe_tensorflow.py"], **{"TF_CONFIG": config, **env})


def test_the_coordinator_stays_until_every_worker_has_found_every_task(clusters: Clusters) -> None:
    """Worker 1 sees the parameter server long after worker 0 has its sum. Parameter servers stay, as real ones do."""
    cluster = clusters(launcher=TENSORFLOW, roles={**TASKS, "evaluator": {"replicas": 1}})
    late = cluster.start(3, ["sh", "-c", "sleep 15; exec python3 -m http.server 2222"])
    config = {
        "cluster": {"ps": [f"{late.address}:2222"], "worker": [f"{pod.address}:2222" for pod in cluster.pods[1:3]]},
        "task": {"type": "worker", "index": 1},
    }
    server = tensorflow(cluster, 0)
    first, second = tensorflow(cluster, 1), tensorflow(cluster, 2, TF_CONFIG=json.dumps(config))
    for pod, last in ((second, "worker 1 was reached by the coordinator"), (first, "cluster formed: 1 ps, 2 worker")):
        ended = cluster.ended(pod)
        assert ended.code == 0, ended.output
        assert ended.reported[-1].startswith(last)
    assert cluster.runs(server)


def test_a_missing_task_is_named_and_an_evaluator_is_outside(clusters: Clusters) -> None:
    cluster = clusters(launcher=TENSORFLOW, roles={**TASKS, "evaluator": {"replicas": 1}})
    outside = cluster.ended(tensorflow(cluster, 3))
    assert (outside.code, outside.reported) == (0, ["evaluator 0 is outside of the cluster of 3 tasks"])
    first = tensorflow(cluster, 1, TRAINFORM_PROBE_TIMEOUT="5")
    hangs = cluster.start(2, ["sleep", "600"])
    ended = cluster.ended(first)
    assert ended.code == 1
    absent = f"missing: ps 0 (the name {cluster.pods[0].address} does not resolve), worker 1 ({hangs.address} is "
    assert ended.reported[-1].startswith(f"the cluster did not form within 5 s: {absent}")
    assert ended.reported[-1].endswith("where nothing listens on port 2222)")
