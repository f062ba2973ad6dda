"""A saved review of a stack, and the state that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainform.stacks.saved.file import keyed
from trainform.stacks.saved.gather import Source, state_of
from trainform.stacks.saved.saved_review import FactKind, SavedReview

KEY = b"5f1c2d7e8a544f0e9b1d3f6f6c1b2a90"
SOURCE = Source("resnet.prod", Path("/nowhere"), KEY)
UID = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90"
JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"
JOB_URN = f"urn:pulumi:resnet.prod::trainform::trainform:index:TrainingJob${JOB}::resnet-job"


def exported(replicas: int = 4, time: str = "2026-11-23T09:14:00Z") -> dict[str, Any]:
    """What `pulumi stack export` prints of a job with so many nodes."""
    job = {"urn": JOB_URN, "type": JOB, "inputs": {"spec": {"replicas": replicas}}}
    return {"version": 3, "deployment": {"manifest": {"time": time}, "resources": [job]}}


def facts(**more: Any) -> dict[FactKind, Any]:
    """The facts of the review, with these."""
    given: dict[Any, Any] = {
        "backend": "s3://states",
        "cluster": UID,
        "versions": {"pulumi": "v3.259.0", "trainform": "0.1.0"},
        "config": {"trainform:experiment": "resnet", "trainform:sshSecret": keyed(KEY, "1")},
        "variable": {"PULUMI_K8S_AWAIT_ALL": keyed(KEY, "true")},
        "state": state_of(exported(), SOURCE),
        "object": {"Job/resnet-1f3a9c": {"uid": "7d6c", "phase": "pending"}},
        "step": {
            "TrainingJob resnet": {"(operation)": "update", "(options)": {"type": "trainform:index:TrainingJob"}},
            "Job resnet-job": {"(operation)": "update", "spec": {"replicas": 4}, "(options)": {"type": JOB}},
        },
    }
    return {**given, **more}


def steps(component: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """The steps of the review, with these values."""
    found = facts()["step"]
    return {
        "TrainingJob resnet": {**found["TrainingJob resnet"], **component},
        "Job resnet-job": {**found["Job resnet-job"], **job},
    }


def saved(stack: str = "resnet.prod") -> SavedReview:
    """The whole review."""
    return SavedReview(at="2026-11-23T09:20:00Z", stack=stack, commit="0123456789abcdef", facts=facts())
