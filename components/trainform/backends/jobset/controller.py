"""The pods that JobSet's controller and Kubernetes' Job controller make from a JobSet, for a rehearsal without a
cluster.

Source: JobSet 0.12.0, pkg/controllers (`constructJob`, `labelAndAnnotateObject`), and Kubernetes' Indexed Jobs; the
engine tests compare the result with the pods of the real controllers.
"""

from __future__ import annotations

import copy
from typing import Any

from trainform.backends.jobset.spec import INDEX_LABEL, INDEX_VARIABLE
from trainform.manifests.pods import pod_from_template


def controller_pods(metadata: dict[str, Any], spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods in order. Their names are their hostnames, to which Kubernetes adds a random end. metadata: the
    JobSet's."""
    return [
        _pod(metadata, spec, job, index)
        for job in spec["replicatedJobs"]
        for index in range(job["template"]["spec"]["completions"])
    ]


def _pod(metadata: dict[str, Any], spec: dict[str, Any], job: dict[str, Any], index: int) -> dict[str, Any]:
    template = copy.deepcopy(job["template"]["spec"]["template"])
    name = f"{metadata['name']}-{job['name']}-0"
    pod_spec = template["spec"]
    pod_spec["hostname"] = f"{name}-{index}"
    pod_spec["subdomain"] = spec["network"]["subdomain"]
    for container in [*pod_spec.get("initContainers", []), *pod_spec["containers"]]:
        field = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_LABEL}']"}}
        container.setdefault("env", []).append({"name": INDEX_VARIABLE, "valueFrom": field})
    labels = {
        INDEX_LABEL: str(index),
        "batch.kubernetes.io/job-name": name,
        "jobset.sigs.k8s.io/jobset-name": metadata["name"],
        "jobset.sigs.k8s.io/replicatedjob-name": job["name"],
        "jobset.sigs.k8s.io/job-index": "0",
    }
    return pod_from_template(f"{name}-{index}", metadata["namespace"], template, labels)
