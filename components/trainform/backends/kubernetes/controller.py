"""The pods that Kubernetes' Job controller makes from an Indexed Job, for a rehearsal without a cluster.

Source: Kubernetes 1.34, pkg/controller/job (`manageJob`, `addCompletionIndexEnvVariables`); the engine tests compare
the result with the pods of the real controller.
"""

from __future__ import annotations

import copy
from typing import Any

from trainform.backends.kubernetes.indexed_job import INDEX_LABEL, INDEX_VARIABLE, JOB_LABEL
from trainform.manifests.pods import pod_from_template


def job_pods(name: str, namespace: str, spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods of a Job in order. Their names are their hostnames, to which Kubernetes adds a random end."""
    return [_pod(name, namespace, spec["template"], index) for index in range(spec["completions"])]


def _pod(job: str, namespace: str, job_template: dict[str, Any], index: int) -> dict[str, Any]:
    template, name = copy.deepcopy(job_template), f"{job}-{index}"
    template["spec"]["hostname"] = name
    for container in [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]:
        field = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_LABEL}']"}}
        container.setdefault("env", []).append({"name": INDEX_VARIABLE, "valueFrom": field})
    return pod_from_template(name, namespace, template, {INDEX_LABEL: str(index), JOB_LABEL: job})
