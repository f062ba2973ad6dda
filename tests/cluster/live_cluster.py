"""A cluster with a job of ours and one of others, and how its facts are read."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import ApiObjects
from tests.support.live_objects import GPU, NAMESPACE, group, node, pod, queue, volcano_job
from trainform import defaults

JOB = "sdxl-lora-1f3a9c"
OTHER = "bert-77aa01"
PLENTY = 30.0  # on a busy machine


def asked(name: str = JOB, experiment: str = "sdxl-lora") -> dict[str, Any]:
    """A job as it was applied; without an experiment, one of another program."""
    job = volcano_job(name)
    labels = {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment} if experiment else {}
    return {**job, "metadata": {**job["metadata"], "labels": labels}}


def config_map(name: str = "sdxl-lora-deployed") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"job": JOB},
    }


def cluster(*more: dict[str, Any]) -> ApiObjects:
    """Two nodes: our job on the first, another one on the second, both in the queue `default`."""
    return ApiObjects(
        [
            node("node-0"),
            node("node-1"),
            queue("default", weight=2, capability={GPU: 64}, guarantee={"resource": {GPU: "8"}}),
            queue("night"),
            volcano_job(JOB),
            config_map(),
            group(f"{JOB}-uid", "default"),
            group(f"{OTHER}-uid", "default", "team-b"),
            pod(JOB, 0, experiment="sdxl-lora"),
            pod(OTHER, 0, on="node-1", namespace="team-b"),
            *more,
        ]
    )
