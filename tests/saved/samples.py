"""A saved review of a stack, and the state that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainform.saved.facts import Facts, Source, state_of
from trainform.saved.file import keyed
from trainform.saved.model import Fact, Saved

KEY = b"5f1c2d7e8a544f0e9b1d3f6f6c1b2a90"
SOURCE = Source("resnet.prod", Path("/nowhere"), KEY)
UID = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90"
EXPERIMENT: dict[str, Any] = {
    "name": "resnet",
    "image": "registry.example.com/ai/resnet:1",
    "roles": {"node": {"replicas": 4, "env": {"NCCL_DEBUG": "WARN"}}},
}
ENVIRONMENT: dict[str, Any] = {"name": "prod", "namespace": {"name": "ai"}, "limits": {"max_accelerators": 64}}
JOB_URN = (
    "urn:pulumi:resnet.prod::trainform::trainform:index:TrainingJob$kubernetes:batch.volcano.sh/v1alpha1:Job::resnet-"
    "job"
)


def exported(replicas: int = 4, time: str = "2026-11-23T09:14:00Z") -> dict[str, Any]:
    """What `pulumi stack export` prints of a job with so many nodes."""
    job = {
        "urn": JOB_URN,
        "type": "kubernetes:batch.volcano.sh/v1alpha1:Job",
        "inputs": {"spec": {"replicas": replicas}},
    }
    return {"version": 3, "deployment": {"manifest": {"time": time}, "resources": [job]}}


def facts(**more: Any) -> Facts:
    """The facts of the review, with these."""
    given: dict[str, Any] = {
        "project": "trainform",
        "backend": "s3://states",
        "engine": "v3.259.0",
        "trainform": "0.1.0",
        "cluster": UID,
        "config": {"trainform:experiment": "resnet", "trainform:environment": "prod"},
        "program": {"Pulumi.yaml": keyed(KEY, "1"), "stacks/__main__.py": keyed(KEY, "2")},
        "policy": {"policy/__main__.py": keyed(KEY, "3")},
        "variable": {"PULUMI_K8S_AWAIT_ALL": keyed(KEY, "true")},
        "experiment": EXPERIMENT,
        "environment": ENVIRONMENT,
        "packs": {"trainform": "0.0.1"},
        "object": {"Job/resnet-1f3a9c": {"uid": "7d6c"}},
        "step": {"Job resnet-job": {"(operation)": "update", "spec": {"replicas": 4}}},
    }
    made: Any = {what: SOURCE.fact(data) for what, data in {**given, **more}.items()}
    for what in ("config", "program"):  # hashes are shown as they are
        made[what] = Fact(hash=made[what].hash, shown={**given, **more}[what])
    return {"state": state_of(exported(), SOURCE), **made}


def saved(stack: str = "resnet.prod") -> Saved:
    """The whole review."""
    return Saved(at="2026-11-23T09:20:00Z", stack=stack, facts=facts())
