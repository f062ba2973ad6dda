"""The pods that JobSet's controller and Kubernetes' Job controller make from a JobSet, for a rehearsal without a
cluster.

Source: JobSet 0.12.0, pkg/controllers (`constructJob`, `labelAndAnnotateObject`); the engine tests compare the result
with the pods of the real controllers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.backends.kubernetes.controller import job_pods


def controller_pods(metadata: dict[str, Any], spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods in order. metadata: the JobSet's."""
    return [pod for job in spec["replicatedJobs"] for pod in _pods(metadata, spec, job)]


def _pods(metadata: dict[str, Any], spec: dict[str, Any], job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": metadata["name"],
        "jobset.sigs.k8s.io/replicatedjob-name": job["name"],
        "jobset.sigs.k8s.io/job-index": "0",
    }
    for pod in job_pods(f"{metadata['name']}-{job['name']}-0", metadata["namespace"], job["template"]["spec"]):
        pod["spec"]["subdomain"] = spec["network"]["subdomain"]
        pod["metadata"]["labels"] |= labels
        yield pod
