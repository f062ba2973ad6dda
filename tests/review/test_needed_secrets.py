"""Secrets that pods of another program need, and the cluster does not have."""

from __future__ import annotations

from typing import Any

from tests.review.jobs import EMPTY, LORA, change, context, object_step
from trainform.cluster.facts import LiveFacts
from trainform.review.context import JobReview
from trainform.review.findings.contract import find
from trainform.review.findings.drift import find as drifts
from trainform.review.job_objects import missing_secrets, needed_secrets
from trainform.review.jobs import jobs_of
from trainform.review.preview import Preview

JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"


def of_pod(**pod: Any) -> tuple[Preview, tuple[JobReview, ...]]:
    """A preview that creates a job with such pods, and one Secret."""
    metadata = {"name": "web", "namespace": "ai-namespace"}
    spec = {"containers": [{"name": "main", "image": "registry.example.com/web:1", **pod.pop("main", {})}], **pod}
    task = {"name": "main", "replicas": 1, "template": {"spec": spec}}
    created = object_step("create", JOB, "web", None, {"metadata": metadata, "spec": {"tasks": [task]}})
    preview = Preview("stream", (created, object_step("create", "Secret", "own", None, {})))
    return preview, jobs_of(preview)


REFERENCES: dict[str, Any] = {
    "main": {
        "env": [
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
            {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "maybe", "key": "token", "optional": True}}},
            {"name": "OWN", "valueFrom": {"secretKeyRef": {"name": "own", "key": "token"}}},
        ],
        "envFrom": [{"secretRef": {"name": "settings"}}],
    },
    "volumes": [
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "both", "projected": {"sources": [{"secret": {"name": "certificate"}}]}},
    ],
}


def test_the_secrets_that_pods_name() -> None:
    found = needed_secrets(*of_pod(**REFERENCES))
    assert [(secret["metadata"]["name"], secret["metadata"]["namespace"]) for secret in found] == [
        (name, "ai-namespace") for name in ("hf", "settings", "keys", "certificate")
    ]


def test_what_the_cluster_does_not_have_is_a_finding_and_no_drift() -> None:
    preview, jobs = of_pod(**REFERENCES)
    live = LiveFacts(EMPTY.read_at, jobs=(), missing=("Secret/hf",))
    missing = missing_secrets(needed_secrets(preview, jobs), live)
    made = context(*jobs, preview=preview, live=live, missing=missing)
    assert missing == ("the Secret hf",)
    (finding,) = find(made)
    assert (finding.code, finding.level) == ("TR-CONTRACT-6", "high")
    assert finding.title == "The new pods need the Secret hf, which does not exist."
    assert [*drifts(made)] == []


def test_the_preflight_looks_for_the_secrets_of_a_component() -> None:
    made = change(None, {**LORA, "env": {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}}})
    assert needed_secrets(made.preview, made.jobs) == []
    assert missing_secrets([], None) == ()
