"""A cluster that refuses what trainform's own checks accept: an admission policy of the platform team."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.engine.live import Live, until

LABEL = {"example.com/training": "forbidden"}
REASON = "the platform team does not allow this training"


@contextmanager
def refusing(live: Live, namespace: str) -> Iterator[None]:
    """While it is open the API server refuses to make objects with the label in the namespace."""
    group = "admissionregistration.k8s.io/v1"
    anything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
    where = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [anything], "objectSelector": {"matchLabels": LABEL}},
            "validations": [{"expression": "false", "message": REASON}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": namespace},
        "spec": {
            "policyName": namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": where},
        },
    }
    for body in (policy, binding):
        live.make(body)
    try:
        until(lambda: _refuses(live, namespace), "the policy to hold")
        yield
    finally:
        for body in (binding, policy):
            live.remove(body)
    until(lambda: not _refuses(live, namespace), "the policy to be gone")


def _refuses(live: Live, namespace: str) -> bool:
    """The server learns of policies a moment after they were made."""
    metadata: dict[str, Any] = {"name": "probe", "labels": LABEL}
    path = f"{live.path('configmaps', namespace)}?dryRun=All"
    response = live.request("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return response.status_code != 201
